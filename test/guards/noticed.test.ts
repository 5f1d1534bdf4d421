/** Facts that a trace took for granted, and that another call changes: each call does what eager execution does. */

import { describe, expect, it } from 'vitest';
import { deviceGuard, setDevice, Tensor, tensor, toStatic, zeros } from '../../src/index.ts';
import { expectSameAsEager, values, weights } from '../trace/same-as-eager.ts';

// biome-ignore lint/suspicious/noExplicitAny: facts are about every kind of value.
type Anything = any;

/** What is given in most calls, and in a later one. */
interface Fact {
  readonly fn: (x: Tensor, given: Anything) => unknown;
  readonly usual: () => unknown;
  readonly other: () => unknown;
}

/** Functions that captured code made. */
const made = toStatic((k: number) => ({
  times: (y: Tensor) => y.mul(k),
  plus: (y: Tensor) => y.add(k),
  twice: [1, 2].map((add) => (y: Tensor) => y.mul(k).add(add)),
}));
const madeMethod = toStatic((prototype: object) => {
  const object = {
    m(y: Tensor) {
      return (super.toString as unknown as (y: Tensor) => Tensor)(y);
    },
  };
  Object.setPrototypeOf(object, prototype);
  return object.m;
});

/** Captured code of one text, whose names are found in other scopes. */
const makerOf = (k: number) => toStatic(() => (y: Tensor) => y.mul(k));
const makers = [makerOf(2), makerOf(3)];

const native = (k: number) => (y: Tensor) => y.mul(k);
const early = (isEarly: boolean) => {
  const read = () => {
    // Not used: only the read itself can throw.
    k;
    return 2;
  };
  if (isEarly) return read;
  // biome-ignore lint/correctness/noUnusedVariables: it is read before it is initialized.
  let k = 2;
  k += 1;
  return read;
};
const earlyMade = toStatic((isEarly: boolean) => early(isEarly));
const callIt = (x: Tensor, g: (y: Tensor) => Tensor) => g(x);

const functions: Readonly<Record<string, Fact>> = {
  'other code': { fn: callIt, usual: () => made(2).times, other: () => made(2).plus },
  'another variable': { fn: callIt, usual: () => made(2).times, other: () => made(3).times },
  'a variable of an iteration': {
    fn: callIt,
    usual: () => made(2).twice[0],
    other: () => made(2).twice[1],
  },
  'another scope': { fn: callIt, usual: () => makers[0]!(), other: () => makers[1]!() },
  'a function that captured code did not make': {
    fn: callIt,
    usual: () => made(2).times,
    other: () => native(2),
  },
  'another parent of a method': {
    fn: callIt,
    usual: () => madeMethod({ toString: (y: Tensor) => y.mul(2) }),
    other: () => madeMethod({ toString: (y: Tensor) => y.mul(3) }),
  },
  'another variable of a function that captured code did not make': {
    fn: callIt,
    usual: () => native(2),
    other: () => native(3),
  },
  'a variable that is read too early': {
    fn: (x, g) => x.mul(g()),
    usual: () => early(false),
    other: () => early(true),
  },
  'a variable that is read too early, of a captured function': {
    fn: (x, g) => x.mul(g()),
    usual: () => earlyMade(false),
    other: () => earlyMade(true),
  },
};

/** Elements of lists whose length differs between calls. */
const layouts: Readonly<Record<string, () => unknown>> = {
  'another dtype': () => tensor(Int32Array.from([1, 2, 3, 4, 5, 6]), { shape: [2, 3] }),
  'another shape': () => values([2, 1]),
  strides: () => values([3, 2]).t(),
  'a tensor that requires gradients': () => weights([2, 3]),
  'a tensor of a subclass': () =>
    Object.setPrototypeOf(values([2, 3]), class extends Tensor {}.prototype),
  'a disposed tensor': () => {
    const x = values([2, 3]);
    x.dispose();
    return x;
  },
  'a number': () => 2,
  'no element': () => undefined,
};

const sum = (x: Tensor, list: Anything) => {
  let s = x;
  for (const each of list) s = s.add(each);
  return s;
};
const sumInside = (x: Tensor, list: Anything) => {
  let s = x;
  for (const each of list) s = s.add(each.k).mul(each.v);
  return s;
};

describe.each(['at first', 'later'])('a call with something else, %s:', (when) => {
  const isOther = (call: number) => call % 3 === (when === 'later' ? 2 : 0);
  it.each(Object.entries(functions))('%s', (_, { fn, usual, other }) => {
    expectSameAsEager(
      () => ({ fn, args: (call) => [values([2], call), isOther(call) ? other() : usual()] }),
      { calls: 6 },
    );
  });

  it('a device', () => {
    const fn = (x: Tensor) => [zeros([2]), x.mul(2)].map((t) => t.device.name);
    const captured = toStatic(fn);
    for (let call = 0; call < 6; call++) {
      const run = (f: typeof fn) => {
        const x = values([2]);
        return isOther(call) ? deviceGuard('meta', () => f(x)) : f(x);
      };
      expect(run(captured)).toEqual(run(fn));
    }
    for (let call = 0; call < 6; call++) {
      const run = (f: typeof fn) => {
        const x = zeros([2]);
        setDevice(isOther(call) ? 'meta' : 'cpu');
        try {
          return f(x);
        } finally {
          setDevice('cpu');
        }
      };
      expect(run(captured)).toEqual(run(fn));
    }
  });
});

describe.each([false, true])(
  'a list of another length (of objects: %s) with an element that is',
  (isNested) => {
    it.each(Object.entries(layouts))('%s', (_, make) => {
      const element = (call: number, i: number) => {
        const v = call === 3 && i === 1 ? make() : values([2, 3], i);
        return isNested ? { k: values([2, 3], i + call), v } : v;
      };
      expectSameAsEager(
        () => ({
          fn: isNested ? sumInside : sum,
          args: (call) => [
            values([2, 3], call),
            // As long as the one before: only the element tells them apart.
            Array.from({ length: Math.min(3 + call, 5) }, (_, i) => element(call, i)),
          ],
        }),
        { calls: 5 },
      );
    });
  },
);
