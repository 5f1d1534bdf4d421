import { ArgumentError } from '../../runtime/errors/errors.ts';
import type { InputSpec } from '../../runtime/input-spec/spec.ts';
import { didYouMean, expectArguments } from '../../runtime/options/expect-options.ts';
import { flag } from '../../runtime/options/option-kinds.ts';
import { type Backend, backendNamed } from '../../runtime/program/backend.ts';
import { type PassName, passNames } from '../5-optimize/passes.ts';
import { referenceOptions } from '../check/culprit.ts';
import type { ChoiceStore, CompileOptions } from '../compile/compilation.ts';
import { RecentChoices } from '../compile/recent-choices.ts';
import type { Dynamic } from '../guards/number-history.ts';
import { cacheIn } from '../process-cache/process-cache.ts';
import type { TraceStore } from '../process-cache/trace-store.ts';
import type { MemoryChoice, MemoryOptions } from '../programs/memory-options.ts';
import { type CaptureSettings, captureSettings } from './capture-settings.ts';
import { cacheFromEnvironment } from './environment.ts';

export interface ToStaticOptions {
  /** Values of the function's free variables, for functions whose scope isn't available otherwise. */
  readonly scope?: Readonly<Record<string, unknown>>;
  /** `error`: throws a CaptureError where a function, or a part of it, would run as ordinary JavaScript. */
  readonly fallback?: 'eager' | 'error';
  /**
   * The numbers and sizes that are symbolic, so that other values need no new trace. `auto`, the default: the first
   * value is a constant, and a second one makes it symbolic; `true`: all; `false`: none.
   */
  readonly dynamic?: Dynamic;
  /** The specification of the arguments. A call that doesn't match it throws an error that names the argument. */
  readonly inputSpec?: readonly InputSpec[];
  /**
   * Compiles the function to one program that contains data-dependent branches and loops; throws where that is
   * impossible.
   */
  readonly fullGraph?: boolean;
  /**
   * How data-dependent decisions are handled without `fullGraph`. `break`, the default, ends the graph there;
   * `auto` converts them to branches and loops of the program if both branches produce mergeable values, and breaks
   * elsewhere.
   */
  readonly capture?: 'break' | 'auto';
  /**
   * With `fullGraph`: the number of iterations up to which a loop over JavaScript values is unrolled. A longer one
   * becomes a loop of the program, if possible. 0 keeps all loops; by default all are unrolled.
   */
  readonly unrollLimit?: number;
  /**
   * The number of paths traced for one data-dependent decision, including the decisions nested in it: branches,
   * loop iterations and members of unions. A decision with more paths ends the graph, or throws with `fullGraph`;
   * the message names the decision that multiplies. 8192 by default.
   */
  readonly pathLimit?: number;
  /**
   * The number of traced instructions after which a graph ends. Unlimited by default: JavaScript loops are unrolled
   * completely.
   */
  readonly traceLimit?: number;
  /**
   * When the function is compiled. `first`, the default: at its first call; `hot`, for short scripts: once compiling is
   * expected to take at most a tenth of the time that it has run eagerly. Generators, async functions and functions
   * that must keep a memory budget are compiled at the first call.
   */
  readonly compile?: 'first' | 'hot';
  /** Graphs with fewer ops are not compiled but run eagerly. 0 by default. */
  readonly minGraphSize?: number;
  /**
   * Throws internal errors of tostatic; by default that part runs as ordinary JavaScript, and the error is
   * recorded. Also verifies all bytecode before it is traced.
   */
  readonly strict?: boolean;
  /** The memory optimizations: a preset's name, or individual switches. All are on by default. */
  readonly memory?: MemoryChoice;
  /**
   * The backend that runs programs. `wasm`, the default: the kernels of their device; `interpret`: the traced
   * program op by op, without passes and memory switches, as the reference of check mode does; the name of a
   * registered backend; or a backend.
   */
  readonly backend?: string | Backend;
  /** Disables passes of the optimizer by name: `{ slices: false }`. All are enabled by default. */
  readonly passes?: PassSwitches;
  /**
   * Check mode: repeats the first `check` runs of every compiled subgraph (for each set of sizes and each path through
   * its control flow), and as many of its backwards, as the traced program op by op, without passes and memory
   * switches. A difference throws a CheckError, which names the first value that differs and the pass or switch that
   * causes it; the reference's writes remain. Freed memory is poisoned meanwhile. The default is 0, or
   * `TOSTATIC_CHECK`.
   */
  readonly check?: number;
}

/** Passes by name; false disables a pass. */
export type PassSwitches = Readonly<Partial<Record<PassName, boolean>>>;

/** Options with defaults filled in. */
export interface StaticSettings extends CaptureSettings {
  /** How traced programs are compiled. */
  readonly compile: CompileOptions;
  /** The traces shared with other processes. */
  readonly traces?: TraceStore;
}

/** Fills in omitted options from the environment and the defaults. Throws ArgumentError. */
export function settingsOf(options: ToStaticOptions): StaticSettings {
  const settings = captureSettings(options);
  const { memory, strict, check } = settings;
  const folder = cacheFromEnvironment();
  const cache = folder === undefined ? undefined : cacheIn(folder);
  const compile = compileOptions(options, memory, strict || check > 0, cache?.plans);
  const isAwaited = compile.backend?.isAsync === true;
  if ((options.check ?? 0) > 0 && isAwaited) {
    throw new ArgumentError({
      what: `toStatic: check mode does not await the backend '${compile.backend!.name}'`,
      given: `check: ${options.check} and an asynchronous backend`,
      expected: 'one of the two',
      remedy: 'check the function without the backend',
    });
  }
  // The environment's setting is ignored where checks are impossible.
  return {
    ...settings,
    check: isAwaited ? 0 : check,
    compile,
    ...(cache && { traces: cache.traces }),
  };
}

/** Throws ArgumentError for an unknown pass or backend, and for memory options or passes given to the interpreter. */
function compileOptions(
  { backend = 'wasm', passes, memory: requested }: ToStaticOptions,
  memory: MemoryOptions,
  verify: boolean,
  cache: ChoiceStore | undefined,
): CompileOptions {
  const without = switchedOff(passes ?? {});
  if (backend === 'interpret') {
    if (passes !== undefined || requested !== undefined) throw interpreted();
    return { ...referenceOptions, verify };
  }
  const found = typeof backend === 'string' ? backendNamed(backend) : checkedBackend(backend);
  const known = cache ?? (memory.budget === null ? undefined : new RecentChoices());
  return {
    ...{ memory, without, verify, tier: 'final' },
    ...(found && { backend: found }),
    ...(known && { cache: known }),
  };
}

function checkedBackend(backend: Backend): Backend {
  if (typeof backend?.compile === 'function' && typeof backend.name === 'string') return backend;
  throw new ArgumentError({
    what: 'toStatic: no backend',
    given: backend === null ? 'null' : `a value of type ${typeof backend}`,
    expected: "'wasm', 'interpret', a registered name, or an object with name and compile()",
    remedy: 'docs/backends.md shows one',
  });
}

function interpreted(): ArgumentError {
  return new ArgumentError({
    what: "toStatic: backend 'interpret' runs the traced program as it is",
    given: 'memory or passes beside it',
    expected: 'neither',
    remedy: 'leave them out, or choose another backend',
  });
}

/** Throws ArgumentError for an unknown pass, and for a value that is not a boolean. */
function switchedOff(switches: PassSwitches): ReadonlySet<string> {
  const known: readonly string[] = passNames;
  for (const [name, value] of Object.entries(switches)) {
    if (known.includes(name)) {
      if (value !== undefined)
        expectArguments('toStatic: passes', { [name]: value }, { [name]: flag });
      continue;
    }
    throw new ArgumentError({
      what: 'toStatic: no such pass',
      given: `the pass '${name}'`,
      expected: passNames.join(', '),
      remedy: didYouMean(name, known) ?? 'switch off passes by these names',
    });
  }
  return new Set(passNames.filter((name) => switches[name] === false));
}
