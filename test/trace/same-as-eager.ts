/** The oracle of these tests: the same function, run eagerly on a state of its own. */

import {
  backward,
  type CapturedStats,
  type StaticFunction,
  Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { expectSame } from '../expect-same.ts';
import { spread } from '../ops/eager.ts';
import { describeError, describeValues } from './snapshot.ts';

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type AnyFunction = (this: any, ...args: any[]) => any;

/** One fresh world: the function, what it is called with, and what else it may change. */
export interface World {
  readonly fn: AnyFunction;
  /** Arguments of call number `call`; the same objects may come again. */
  readonly args?: (call: number) => unknown[];
  readonly thisValue?: unknown;
  /** Everything else whose state counts: logs, outer objects, module variables. */
  readonly state?: () => unknown;
  /** Puts the function into the world: as a method, for instance. Default: called by itself. */
  readonly install?: (fn: AnyFunction) => AnyFunction;
}

export interface CompareOptions extends ToStaticOptions {
  readonly calls?: number;
  /** Runs one call, for example under noGrad. */
  readonly around?: <T>(body: () => T, call: number) => T;
  /** Makes the captured function: `toStatic` by default. */
  readonly wrap?: typeof toStatic;
}

/** What static execution did: statistics after the last call, translations after each. */
export interface Observed {
  readonly stats: CapturedStats;
  readonly translations: readonly number[];
  /** Graphs (G) and breaks (B) met so far. */
  readonly graphs: number;
  readonly breaks: number;
  readonly reasons: readonly string[];
  readonly captured: StaticFunction<AnyFunction>;
}

/** Numbers in [-1, 1) that are the same in every world. */
export function values(shape: number[], salt = 0): Tensor {
  return tensor(spread(shape, salt), { shape });
}

export function weights(shape: number[], salt = 0): Tensor {
  return values(shape, salt).requiresGrad_();
}

/**
 * Runs the function eagerly in one world and captured in another, several times, and compares after
 * every call: the result or the exception, identities, arguments, state, and all gradients.
 */
export function expectSameAsEager(make: () => World, options: CompareOptions = {}): Observed {
  const { calls = 3, around = (body) => body(), wrap = toStatic, ...staticOptions } = options;
  const [eager, world] = [make(), make()];
  const captured = wrap(world.fn, { strict: true, ...staticOptions });
  const [runEagerly, runCaptured] = [
    eager.install?.(eager.fn) ?? eager.fn,
    world.install?.(captured) ?? captured,
  ];
  const translations: number[] = [];
  for (let call = 0; call < calls; call++) {
    const expected = around(() => observe(eager, runEagerly, call), call);
    const actual = around(() => observe(world, runCaptured, call), call);
    expectSame(actual, expected, `call ${call}`);
    translations.push(captured.stats().translations);
  }
  const stats = captured.stats();
  return {
    stats,
    translations,
    graphs: stats.graphs,
    breaks: stats.breaks.length,
    reasons: stats.breaks.map(({ reason }) => reason),
    captured,
  };
}

function observe(world: World, run: AnyFunction, call: number): unknown {
  const args = world.args?.(call) ?? [];
  let outcome: unknown;
  let result: unknown;
  try {
    result = Reflect.apply(run, world.thisValue, args);
    outcome = 'returned';
  } catch (error) {
    outcome = describeError(error);
  }
  const after = () => describeValues([args, world.thisValue, world.state?.(), result]);
  const forward = after();
  const gradients = differentiate(result);
  return { outcome, forward, gradients, backward: gradients === 'none' ? null : after() };
}

/** Backward from every tensor of the result that requires a gradient, each with another seed. */
function differentiate(result: unknown): string | object {
  const roots = [...tensorsOf(result)].filter((t) => t.requiresGrad && !t.disposed && !t.isLeaf);
  if (roots.length === 0) return 'none';
  try {
    roots.forEach((root, i) => {
      const seed = values([...root.shape], i + 100);
      backward(root, seed, { retainGraph: i < roots.length - 1 });
    });
    return `${roots.length} roots`;
  } catch (error) {
    return describeError(error);
  }
}

function* tensorsOf(value: unknown, seen = new Set<object>()): Generator<Tensor> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Tensor) yield value;
  else for (const item of Object.values(value)) yield* tensorsOf(item, seen);
}
