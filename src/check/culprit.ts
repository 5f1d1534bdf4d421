import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { type PassName, passNames } from '../5-optimize/passes.ts';
import type { CompileOptions } from '../compile/compilation.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { compare, type Difference, disposeOutcome, type Outcome } from './outcome.ts';
import type { Reading } from './reading.ts';
import type { BackwardCall, Scenario } from './scenario.ts';
import type { CompiledFrom } from './sources.ts';

/** A pass of the optimizer, or a switch of the memory plan. */
interface Suspect {
  readonly name: string;
  /** The option that switches it off: `passes: { slices: false }`. */
  readonly option: string;
  /** Returns the options with it enabled as in the compilation that differs. */
  readonly enable: (options: CompileOptions) => CompileOptions;
}

/** Memory switches that may be on, ordered so that each needs only earlier ones. */
const switches = [
  'freeAtLastUse',
  'skipSet',
  'unusedInputs',
  'inputCopies',
  'unusedOutputs',
  'noNeedBuffer',
  'gradNodeInputs',
  'reuse',
  'order',
  'arena',
  'compactViews',
] as const satisfies readonly (keyof MemoryOptions)[];

/** Everything off: ops in program order, every value kept until the end, no pass. */
const allOff: MemoryOptions = {
  freeAtLastUse: false,
  reuse: false,
  order: false,
  minimizeSaved: false,
  savedMasks: false,
  savedPlaces: false,
  recomputeScores: false,
  simplify: false,
  slices: false,
  arena: false,
  donate: false,
  skipSet: false,
  unusedInputs: false,
  inputCopies: false,
  compactViews: false,
  stridedInputs: true,
  unusedOutputs: false,
  noNeedBuffer: false,
  gradNodeInputs: false,
  prefer: 'time',
  budget: null,
  savedDtype: null,
  offload: null,
};

/** Compiles the traced program unchanged: the reference of check mode. */
export const referenceOptions: CompileOptions = {
  memory: allOff,
  without: new Set(passNames),
  verify: false,
  tier: 'final',
};

/**
 * Returns the passes and switches of a compilation, in the order in which they are enabled to find the culprit. A pass
 * may need a switch or the budget to run, or for its program to be chosen, so these come first: otherwise they would be
 * blamed for the pass's fault.
 */
function suspectsOf({ options, donated }: CompiledFrom): Suspect[] {
  const { memory, without, compact, rate } = options;
  return [
    ...switches
      .filter((name) => memory[name])
      .map((name) => memorySwitch(name, name === 'compactViews' && compact ? { compact } : {})),
    ...(donated.length > 0 ? [memorySwitch('donate')] : []),
    ...(memory.budget === null ? [] : [budgetSuspect(memory.budget, rate)]),
    ...passNames.filter((name) => !without.has(name)).map(passSuspect),
  ];
}

function passSuspect(name: PassName): Suspect {
  return {
    name: `the pass '${name}'`,
    option: `passes: { ${name}: false }`,
    enable: (options) => ({
      ...options,
      without: new Set([...options.without].filter((each) => each !== name)),
    }),
  };
}

/** `more`: other options that depend on the switch. */
function memorySwitch(name: keyof MemoryOptions, more: Partial<CompileOptions> = {}): Suspect {
  return {
    name: `the memory switch '${name}'`,
    option: `memory: { ${name}: false }`,
    enable: (options) => ({ ...options, ...more, memory: { ...options.memory, [name]: true } }),
  };
}

function budgetSuspect(budget: number, rate: number | undefined): Suspect {
  return {
    name: 'the budget',
    option: 'memory: { budget: null }',
    enable: (options) => ({
      ...options,
      memory: { ...options.memory, budget },
      ...(rate !== undefined && { rate }),
    }),
  };
}

/** Returns the options with the first `count` suspects enabled. */
export function optionsWith(source: CompiledFrom, count: number): CompileOptions {
  const { compact, rate, ...options } = source.options;
  const off = Object.fromEntries(switches.map((name) => [name, false]));
  // Other options have an effect only through a pass.
  const memory = { ...options.memory, ...off, donate: false, budget: null, savedDtype: null };
  return suspectsOf(source)
    .slice(0, count)
    .reduce<CompileOptions>((some, { enable }) => enable(some), {
      ...options,
      memory,
      without: new Set(passNames),
    });
}

/** Repeats the scenario under some plan, with a backward call if one is given. */
export function repeat(
  subgraph: Subgraph,
  scenario: Scenario,
  call: BackwardCall | null,
  takesOver = false,
): Outcome {
  const { outcome, node } = scenario.run(subgraph, takesOver);
  if (!call || !node) {
    node?.release();
    return outcome;
  }
  disposeOutcome(outcome);
  try {
    return call.apply(node);
  } finally {
    node.release();
  }
}

/** Returns the program under the plan with the first `count` suspects enabled. */
export function variantOf(source: CompiledFrom, count: number): Subgraph {
  const { program, requested, donated, compile } = source;
  const options = optionsWith(source, count);
  const takenOver = options.memory.donate ? donated : [];
  return new Subgraph(compile(program, requested, options, takenOver).planned);
}

/** A suspect that makes a difference when it is enabled after the earlier ones, and its index. */
interface FoundSuspect {
  readonly suspect: Suspect;
  readonly index: number;
}

/**
 * Bisects the suspects: with none of them the program is the reference, with all of them it differs. Null if the
 * run doesn't differ when it is repeated with all of them.
 */
export function* findCulprit(
  source: CompiledFrom,
  scenario: Scenario,
  call: BackwardCall | null,
  expected: Outcome,
): Reading<FoundSuspect | null> {
  const suspects = suspectsOf(source);
  let [same, different] = [0, suspects.length];
  if (!(yield* differs(source, different, scenario, call, expected))) return null;
  while (different - same > 1) {
    const middle = (same + different) >> 1;
    if (yield* differs(source, middle, scenario, call, expected)) different = middle;
    else same = middle;
  }
  return { suspect: suspects[different - 1]!, index: different - 1 };
}

function* differs(
  source: CompiledFrom,
  count: number,
  scenario: Scenario,
  call: BackwardCall | null,
  expected: Outcome,
): Reading<Difference | null> {
  const takesOver = optionsWith(source, count).memory.donate;
  const outcome = repeat(variantOf(source, count), scenario, call, takesOver);
  const difference = yield* compare(outcome, expected);
  disposeOutcome(outcome);
  return difference;
}
