/**
 * Runs one function of the corpus in two worlds that start out equal: eagerly in one, captured in the
 * other. After every call everything that can be seen must agree: result or exception, identities,
 * arguments, outer state, gradients, what was printed and in which order, and where the stream of random
 * numbers stands. At the end the captured world must have given its bytes back.
 */

import {
  type CapturedStats,
  memory,
  randomState,
  type StaticFunction,
  seed,
  setRandomState,
  Tensor,
  type ToStaticOptions,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { expectSame } from '../expect-same.ts';
import { describeError, describeValues } from '../trace/snapshot.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
export type AnyFunction = (this: any, ...args: any[]) => any;

/** A function with everything that it can reach; made anew for each of the two runs. */
export interface CorpusWorld {
  readonly fn: AnyFunction;
  readonly args?: (call: number) => unknown[];
  readonly thisValue?: unknown;
  /** What else the function may change. */
  readonly state?: () => unknown;
  /** Puts the function to be run in its place: as a method, or as what another function calls. */
  readonly install?: (fn: AnyFunction) => AnyFunction;
}

export interface DifferentialOptions extends ToStaticOptions {
  readonly calls: number;
}

export interface Difference {
  readonly stats: CapturedStats;
  readonly captured: StaticFunction<AnyFunction>;
  /** Bytes that nobody can reach any more, and that were not given back. */
  readonly leaked: number;
}

const allocated = (): number => memory.stats('cpu').allocated;

/** Fails where the two runs differ; answers what capturing did. */
export function differential(make: () => CorpusWorld, options: DifferentialOptions): Difference {
  const { calls, ...staticOptions } = options;
  const eager = new Run(make, (fn) => fn);
  let captured: StaticFunction<AnyFunction> | undefined;
  const before = allocated();
  const compiled = new Run(make, (fn) => {
    captured = toStatic(fn, { strict: true, ...staticOptions });
    return captured;
  });
  let byEager = 0;
  for (let call = 0; call < calls; call++) {
    const start = allocated();
    const expected = eager.call(call);
    byEager += allocated() - start;
    expectSame(compiled.call(call), expected, `call ${call}`);
    void captured!.ready();
  }
  compiled.dispose();
  const leaked = allocated() - before - byEager;
  eager.dispose();
  return { stats: captured!.stats(), captured: captured!, leaked };
}

/** One world and how it goes on. */
class Run {
  readonly #world: CorpusWorld;
  readonly #fn: AnyFunction;
  /** Where this world's stream of random numbers stands. */
  #random: ReturnType<typeof randomState>;
  /** Every tensor that was ever handed out. */
  readonly #seen = new Set<Tensor>();

  constructor(make: () => CorpusWorld, prepare: (fn: AnyFunction) => AnyFunction) {
    seed(11);
    this.#world = make();
    this.#random = randomState();
    const fn = prepare(this.#world.fn);
    this.#fn = this.#world.install?.(fn) ?? fn;
  }

  call(call: number): unknown {
    const { thisValue, state } = this.#world;
    setRandomState(this.#random);
    // What is made on the way to the arguments is nobody's.
    const args = tidy(() => this.#world.args?.(call) ?? []);
    const printed: unknown[] = [];
    const { outcome, result } = withConsole(printed, () => this.#outcome(args));
    const reached = [args, thisValue, state?.(), result];
    const forward = describeValues(reached);
    const backward = differentiate(result);
    this.#random = randomState();
    for (const tensor of tensorsIn(reached)) this.#seen.add(tensor);
    const after = backward === 'none' ? null : describeValues(reached);
    return {
      outcome,
      printed: describeValues(printed),
      forward,
      backward,
      after,
      random: { ...this.#random },
    };
  }

  dispose(): void {
    for (const tensor of this.#seen) {
      tensor.grad?.dispose();
      if (!tensor.disposed) tensor.dispose();
    }
  }

  #outcome(args: unknown[]): { outcome: unknown; result?: unknown } {
    try {
      return {
        outcome: 'returned',
        result: Reflect.apply(this.#fn, this.#world.thisValue, args),
      };
    } catch (error) {
      return { outcome: describeError(error) };
    }
  }
}

/** What the function prints is an effect like others. */
function withConsole<T>(printed: unknown[], body: () => T): T {
  const { log } = console;
  // Native, as the real one is.
  console.log = printed.push.bind(printed);
  try {
    return body();
  } finally {
    console.log = log;
  }
}

/** Backward from every tensor of the result that was computed from a leaf. */
function differentiate(result: unknown): string | object {
  const roots = [...tensorsIn(result)].filter((t) => t.requiresGrad && !t.disposed && !t.isLeaf);
  if (roots.length === 0) return 'none';
  try {
    for (const [i, root] of roots.entries()) {
      tidy(() => root.sum().backward(null, { retainGraph: i < roots.length - 1 }));
    }
    return `${roots.length} roots`;
  } catch (error) {
    return describeError(error);
  }
}

function* tensorsIn(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Tensor) yield value;
  else if (value instanceof Map) for (const entry of value) yield* tensorsIn(entry, seen);
  else if (value instanceof Set) for (const item of value) yield* tensorsIn(item, seen);
  else for (const item of Object.values(value)) yield* tensorsIn(item, seen);
}
