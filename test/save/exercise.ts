/** Runs a function or a loaded program and writes down everything that can be seen of it, bit by bit. */

import { seed, Tensor, tensor } from '../../runtime/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
export type Fn = (...args: any[]) => unknown;

/** The calls of one case: their arguments, in the order in which they are made. */
export type Calls = readonly (readonly unknown[])[];

export interface Seen {
  readonly seen: readonly unknown[];
  /** Of the arguments. */
  readonly gradients: unknown;
  readonly state: Readonly<Record<string, unknown>>;
}

/** `state` answers the tensors and numbers outside of the arguments, by name. */
export function exercise(
  fn: Fn,
  calls: Calls,
  state: () => Readonly<Record<string, unknown>>,
): Seen {
  seed(11);
  const seen = calls.map((args) => {
    const value = attempt(() => fn(...args));
    const results = [...tensorsIn(value)].filter((each) => each.requiresGrad && !each.isLeaf);
    for (const each of results) each.sum().backward(undefined, { retainGraph: true });
    return { value: bits(value), arguments: bits(args) };
  });
  const named = Object.entries(state()).map(([name, value]) => {
    return [name, { value: bits(value), gradients: gradientsOf(value) }] as const;
  });
  return { seen, gradients: gradientsOf(calls), state: Object.fromEntries(named) };
}

function attempt(body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    return { thrown: (error as Error).message.split('\n')[0] };
  }
}

function gradientsOf(all: unknown): unknown {
  return [...new Set(tensorsIn(all))].map((each) => each.grad && bits(each.grad));
}

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (value instanceof Map || value instanceof Set) yield* tensorsIn([...value]);
  else if (Array.isArray(value)) for (const each of value) yield* tensorsIn(each);
  else if (value && typeof value === 'object') yield* tensorsIn(Object.values(value));
}

/** Plain data that tells every bit of every tensor. */
export function bits(value: unknown): unknown {
  if (value instanceof Tensor) {
    if (value.disposed) return 'disposed';
    const { buffer, byteOffset, byteLength } = value.dataSync();
    const hex = Buffer.from(buffer, byteOffset, byteLength).toString('hex');
    return { dtype: value.dtype, shape: [...value.shape], requiresGrad: value.requiresGrad, hex };
  }
  if (value instanceof Map) return { map: bits([...value]) };
  if (value instanceof Set) return { set: bits([...value]) };
  if (Array.isArray(value)) return value.map(bits);
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, bits(each)]));
  }
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  return value === undefined ? 'undefined' : value;
}

/** Arguments of the number and kinds that no function under test takes. */
export function callsOfWrongKinds(): Calls {
  const x = () => tensor([1, 2, 0.5]);
  return [
    [],
    [null, null],
    [5, 'x'],
    [x(), x()],
    [x(), 7n],
    [x(), { n: '3', list: 5, old: 1 }],
    [x(), { n: 3, list: {}, old: 1 }],
    [x(), { n: 3n, list: [1], old: 2 }],
    [[x()], new Map([['n', x()]])],
  ];
}
