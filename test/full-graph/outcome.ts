/** All that a call leaves: values, gradients, what it did to its arguments, random numbers, what it threw. */

import { expect } from 'vitest';
import { randomState } from '../../runtime/random/seed.ts';
import { seed, Tensor, tidy } from '../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: any function under test.
export type Fn = (...args: any[]) => unknown;

export interface Outcome {
  readonly thrown?: readonly [string, string];
  readonly value?: unknown;
  readonly gradients: unknown[];
  readonly arguments: unknown;
  /** Random numbers, by the place where the stream stands afterwards. */
  readonly numbersDrawn?: number;
}

export function outcome(fn: Fn, args: unknown[]): Outcome {
  seed(11);
  return tidy(() => run(fn, args));
}

function run(fn: Fn, args: unknown[]): Outcome {
  let value: unknown;
  try {
    value = fn(...args);
  } catch (error) {
    const { name, message } = error as Error;
    return { thrown: [name, message], gradients: [], arguments: plain(args) };
  }
  const roots = [...tensorsIn(value)].filter((each) => each.requiresGrad);
  for (const root of roots) {
    const sum = root.sum();
    sum.backward(undefined, { retainGraph: true });
    sum.dispose();
  }
  const result = {
    value: plain(value),
    gradients: [...tensorsIn(args)].map((each) => each.grad && plain(each.grad)),
    arguments: plain(args),
    numbersDrawn: randomState().offset,
  };
  return result;
}

export function release(all: unknown): void {
  for (const each of tensorsIn(all)) {
    each.grad?.dispose();
    each.dispose();
  }
}

export function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value;
  else if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    for (const each of value) yield* tensorsIn(each);
  } else if (value && typeof value === 'object') yield* tensorsIn(Object.values(value));
}

function plain(value: unknown): unknown {
  if (value instanceof Tensor) {
    if (value.disposed) return 'disposed';
    return { dtype: value.dtype, shape: [...value.shape], data: [...value.dataSync()] };
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map || value instanceof Set)
    return [value.constructor.name, plain([...value])];
  // In the order of the keys.
  if (value && typeof value === 'object') return plain(Object.entries(value));
  return value;
}

export function close(a: unknown, b: unknown): void {
  if (typeof a === 'number' && typeof b === 'number') {
    const tolerance = 1e-6 + 1e-5 * Math.abs(b);
    // Most are, and `expect` takes longer than the rest.
    if (!(Math.abs(a - b) <= tolerance)) expect(a).toBe(b);
    return;
  }
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    expect(Object.keys(a)).toEqual(Object.keys(b));
    for (const key of Object.keys(a)) close(Reflect.get(a, key), Reflect.get(b, key));
    return;
  }
  expect(a).toEqual(b);
}
