/** Methods that users replace between calls, on prototypes and on single tensors: later calls must notice. */

import { describe, expect, it } from 'vitest';
import { seed, Tensor, tensor, toStatic } from '../../../src/index.ts';
import { describeError, describeValues } from '../snapshot.ts';

type Methods = Record<PropertyKey, unknown>;
const prototype = Tensor.prototype as unknown as Methods;

/** Applies a change for the length of `body`, whatever it does. */
function changed<T>(target: object, key: PropertyKey, change: () => void, body: () => T): T {
  const before = Object.getOwnPropertyDescriptor(target, key);
  change();
  try {
    return body();
  } finally {
    if (before) Object.defineProperty(target, key, before);
    else delete (target as Methods)[key];
  }
}

const replacement = function (this: unknown) {
  return this instanceof Tensor ? 'replaced' : 'lost';
};

const changes: Record<string, (target: object, key: PropertyKey) => void> = {
  replaced: (target, key) => {
    Object.defineProperty(target, key, { value: replacement, writable: true, configurable: true });
  },
  'replaced by a getter': (target, key) => {
    Object.defineProperty(target, key, { get: () => replacement, configurable: true });
  },
  'replaced by data': (target, key) => {
    Object.defineProperty(target, key, { value: 7, configurable: true });
  },
  deleted: (target, key) => {
    delete (target as Methods)[key];
  },
};

/** A promise that fails is awaited nowhere. */
function settled(value: unknown): unknown {
  if (!(value instanceof Promise)) return value;
  value.catch(() => undefined);
  return 'a promise';
}

const outcome = (run: () => unknown): unknown => {
  try {
    return describeValues([run()].flat().map(settled));
  } catch (error) {
    return describeError(error);
  }
};

/** Promises that fail beside an error would fail the test. */
const asynchronous = new Set(['data', 'item', 'toAsync', 'toStringAsync']);
/** Which memory and which array of sizes it is differs from run to run. */
const internal = new Set(['constructor', 'holderFor', 'toJSON']);

const methods = Object.entries(Object.getOwnPropertyDescriptors(Tensor.prototype))
  .filter(([key, { value }]) => typeof value === 'function' && !asynchronous.has(key))
  .map(([key]) => key)
  .filter((key) => !internal.has(key));

const program = (key: string) => (x: Tensor) => {
  const y = x.mul(2) as unknown as Record<string, () => unknown>;
  return [y[key]!(), (x as unknown as Record<string, () => unknown>)[key]!()];
};

const fresh = () => tensor([1, 2, 3, 4], { shape: [2, 2] });

/** Each change is made to the prototype, then undone, then made to the tensor that is given. */
function expectNoticed(key: string, names: readonly string[]): void {
  const fn = program(key);
  const captured = toStatic(fn);
  const same = (why: string) => {
    const [eager, actual] = [fn, captured].map((run) => {
      seed(1);
      return outcome(() => run(fresh()));
    });
    expect(actual, why).toEqual(eager);
  };
  same('as it is');
  for (const name of names) {
    const change = changes[name]!;
    changed(
      prototype,
      key,
      () => change(prototype, key),
      () => same(`prototype: ${name}`),
    );
    same(`restored: ${name}`);
    const own = (run: (x: Tensor) => unknown) =>
      outcome(() => {
        seed(1);
        const x = fresh();
        change(x, key);
        return run(x);
      });
    expect(own(captured), `own: ${name}`).toEqual(own(fn));
    same(`another tensor: ${name}`);
  }
}

describe('a method of a tensor is looked up at each call', () => {
  it.each(methods)('%s', (key) => expectNoticed(key, ['replaced']));
  it.each(['relu', 'matmul', 'dataSync', 'backward', 'detach', 'sum'])(
    '%s is changed in every way',
    (key) => expectNoticed(key, Object.keys(changes)),
  );
});
