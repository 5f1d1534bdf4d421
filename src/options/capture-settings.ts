/** The options of `toStatic`, except for how programs are compiled: these settings don't need the compiler. */

import { ArgumentError } from '../../runtime/errors/errors.ts';
import { verifySpecs } from '../../runtime/input-spec/verify-spec.ts';
import { expectArguments, shown, unknownOption } from '../../runtime/options/expect-options.ts';
import { anObject } from '../../runtime/options/option-kinds.ts';
import type { Dynamic } from '../guards/number-history.ts';
import { type MemoryOptions, memoryOptions } from '../programs/memory-options.ts';
import {
  checkFromEnvironment,
  fallbackFromEnvironment,
  minGraphSizeFromEnvironment,
} from './environment.ts';
import type { ToStaticOptions } from './static-options.ts';

export interface CaptureSettings {
  readonly fallback: 'eager' | 'error';
  readonly dynamic: Dynamic;
  readonly fullGraph: boolean;
  readonly capture: 'break' | 'auto';
  readonly unrollLimit: number;
  readonly pathLimit: number;
  readonly traceLimit: number;
  readonly minGraphSize: number;
  readonly strict: boolean;
  readonly memory: MemoryOptions;
  /** How many runs of each compiled subgraph are checked. */
  readonly check: number;
}

/** The test suite needs less than an eighth of this; tracing this many paths takes seconds. */
const defaultPathLimit = 8192;

/** Fills in omitted options from the environment and the defaults. Throws ArgumentError. */
export function captureSettings(options: ToStaticOptions): CaptureSettings {
  verifyChoices(options);
  const minGraphSize = options.minGraphSize ?? minGraphSizeFromEnvironment() ?? 0;
  expectCount('minGraphSize', minGraphSize, 'ops', 'leave it out for all graphs');
  const unrollLimit = options.unrollLimit ?? Number.POSITIVE_INFINITY;
  expectCount('unrollLimit', unrollLimit, 'iterations', 'leave it out to unroll every loop');
  const pathLimit = options.pathLimit ?? defaultPathLimit;
  expectCount('pathLimit', pathLimit, 'paths', `leave it out for ${defaultPathLimit}`, 1);
  const check = options.check ?? checkFromEnvironment() ?? 0;
  expectCount('check', check, 'runs', 'check: 3 checks three runs');
  const traceLimit = options.traceLimit ?? Number.POSITIVE_INFINITY;
  expectCount('traceLimit', traceLimit, 'instructions', 'leave it out for no limit', 1);
  const { scope } = options;
  if (scope !== undefined) expectArguments('toStatic', { scope }, { scope: anObject });
  if (options.inputSpec) verifySpecs(options.inputSpec);
  const fullGraph = options.fullGraph ?? false;
  const memory = memoryOptions(options.memory);
  const isRounded = memory.savedDtype !== null;
  if ((options.check ?? 0) > 0 && isRounded) {
    throw new ArgumentError({
      what: 'toStatic: check mode compares bits, and savedDtype changes them',
      given: `check: ${options.check} and memory: { savedDtype: '${memory.savedDtype}' }`,
      expected: 'one of the two',
      remedy: 'check the function without savedDtype',
    });
  }
  return {
    // With one program or an error, nothing falls back.
    fallback: fullGraph ? 'error' : (options.fallback ?? fallbackFromEnvironment() ?? 'eager'),
    dynamic: options.dynamic ?? 'auto',
    fullGraph,
    capture: options.capture ?? 'break',
    unrollLimit,
    pathLimit,
    traceLimit,
    minGraphSize: fullGraph ? 0 : minGraphSize,
    strict: options.strict ?? false,
    memory,
    // The environment's setting is ignored where checks are impossible.
    check: isRounded ? 0 : check,
  };
}

/** Throws ArgumentError unless `value` is an integer from `least` on. */
function expectCount(name: string, value: number, of: string, remedy: string, least = 0): void {
  if (typeof value === 'number' && value >= least) return;
  throw new ArgumentError({
    what: `toStatic: ${name} is not a number of ${of}`,
    given: shown(value),
    expected: `a number from ${least} on`,
    remedy,
  });
}

/** Every option, with its values if there are only a few; null if validated separately. */
export const choices: {
  readonly [Name in keyof Required<ToStaticOptions>]: readonly unknown[] | null;
} = {
  scope: null,
  fallback: ['eager', 'error'],
  dynamic: ['auto', true, false],
  inputSpec: null,
  fullGraph: [true, false],
  capture: ['break', 'auto'],
  unrollLimit: null,
  pathLimit: null,
  traceLimit: null,
  compile: ['first', 'hot'],
  minGraphSize: null,
  strict: [true, false],
  memory: null,
  backend: null,
  passes: null,
  check: null,
};

/** Throws ArgumentError for an unknown option, and for a value outside its list. */
function verifyChoices(options: ToStaticOptions): void {
  expectArguments('toStatic', { options }, { options: anObject });
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(choices, name)) throw unknownOption('toStatic', name, Object.keys(choices));
    const values = choices[name as keyof ToStaticOptions];
    if (value === undefined || values === null || values.includes(value)) continue;
    throw new ArgumentError({
      what: `toStatic: ${name} has no such value`,
      given: shown(value),
      expected: values.map(shown).join(' or '),
      remedy: 'use one of these, or leave it out for the default',
    });
  }
}
