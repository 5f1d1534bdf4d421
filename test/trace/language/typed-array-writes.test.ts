/** Writes to typed arrays that existed before the call stay in the graph, and happen after the run. */

import { expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';
import { expectOneGraph } from './every-mode.ts';

type Numbers = Float64Array;
type Body = (x: Tensor, a: Numbers, call: number) => unknown;

const types = [
  ...[Float32Array, Float64Array, Int8Array, Int16Array, Int32Array],
  ...[Uint8Array, Uint8ClampedArray, Uint16Array, Uint32Array],
] as unknown as (new (
  items: readonly number[],
) => Numbers)[];

const bodies: Readonly<Record<string, Body>> = {
  'an element is assigned, and read': (x, a) => {
    a[0] = 5.7;
    a[1]! += 300.5;
    a[2] = -1;
    return [x.mul(a[0]!), a[1], a[2], a.length];
  },
  'an index beyond the end is ignored': (x, a) => {
    a[9] = 2;
    return [x.mul(a.length), a[9]];
  },
  'a computed number is converted': (x, a, call) => {
    a[0] = call * 70_000.25;
    a[1] = x.shape[0]! * 1e9;
    return x.mul(a[0]!).add(a[1]!);
  },
  'what is no number is converted': (x, a) => {
    for (const [i, value] of ['3', null, true, undefined].entries())
      a[i] = value as unknown as number;
    return [x.mul(a[0]!), a[3]];
  },
  'fill, copyWithin, reverse and set': (x, a) => {
    a.fill(3.5, 1, -1);
    a.copyWithin(0, 2);
    a.set([7, 8], 1);
    a.set(new Int8Array([4]));
    return [
      x.mul(a.reverse()[1]!),
      [...a],
      a.sort()[0],
      a.copyWithin(-2, -4, -1) === a,
      a.fill(1, -2, 9)[3],
    ];
  },
  'what reads the whole array finds them': (x, a) => {
    a[1] = 9;
    const sum = a.reduce((total, each) => total + each, 0);
    return [x.mul(sum), [...a], a.indexOf(9), a.join(), a.slice(1), a.map((each) => each + 1)];
  },
  'a loop counts': (x, a) => {
    for (let i = 0; i < a.length; i++) a[i]!++;
    return x.add(a[0]!);
  },
};

for (const [name, body] of Object.entries(bodies)) {
  it(name, () => {
    for (const Type of types) {
      expectOneGraph(() => {
        const a = new Type([1, 2, 3, 4]);
        return { fn: body, args: (call) => [values([2]), a, call] };
      });
    }
  });
}

const worlds: Readonly<Record<string, () => World>> = {
  'two arrays over one memory': () => {
    const memory = new Float32Array([1, 2, 3, 4]);
    const tail = memory.subarray(1);
    return {
      fn: (x: Tensor) => {
        memory[1] = 7;
        const y = x.mul(tail[0]!);
        tail[1] = 8;
        return y.add(memory[2]!);
      },
      args: () => [values([2])],
      state: () => [memory, tail],
    };
  },
  'two arguments that later share their memory': () => ({
    fn: (x: Tensor, a: Numbers, b: Numbers) => {
      a[0] = 7;
      return x.mul(b[0]!);
    },
    args: (call) => {
      const a = new Float64Array([1, 2]);
      return [values([2]), a, [new Float64Array([3]), a, a.subarray(0, 1)][call]!];
    },
  }),
  'other types, lengths and elements later': () => ({
    fn: (x: Tensor, a: Numbers) => {
      a[2] = 300;
      return x.mul(a[2] ?? 1).add(a[0]!);
    },
    args: (call) => {
      const Type = types[[0, 1, 2, 2, 7][call]!]!;
      return [values([2]), new Type(call === 3 ? [1, 2] : [call, 2, 3])];
    },
  }),
  'a set that is out of bounds': () => ({
    fn: (x: Tensor, a: Numbers) => {
      try {
        a.set([1, 2], 3);
      } catch (error) {
        return [x.mul(2), (error as Error).message, a];
      }
      return x;
    },
    args: () => [values([2]), new Float64Array(4)],
  }),
  'a read and a write of one memory in turn': () => {
    const memory = new Float32Array([1, 2, 3, 4]);
    const tail = memory.subarray(1);
    return {
      fn: (x: Tensor) => {
        let y = x;
        for (let i = 0; i < 3; i++) {
          y = y.mul(tail[i]!);
          memory[i + 1]! += 1;
        }
        return y;
      },
      args: () => [values([2])],
      state: () => memory,
    };
  },
};

for (const [name, make] of Object.entries(worlds)) {
  it(name, () => {
    for (const capture of ['break', 'auto'] as const) {
      const { graphs } = expectSameAsEager(make, { calls: 5, capture, check: 2 });
      expect(graphs).toBeGreaterThan(0);
    }
  });
}

it('a number of the program is written', () => {
  for (const Type of types) {
    // How it rounds depends on the number.
    const isClamped = (Type as unknown) === Uint8ClampedArray;
    for (const mode of [
      { capture: 'auto' },
      ...(isClamped ? [] : [{ fullGraph: true }]),
    ] as const) {
      const { reasons } = expectSameAsEager(
        () => {
          const a = new Type([1, 2, 3, 4]);
          return {
            fn: (x: Tensor) => {
              a[1] = x.sum().itemSync() * 1000;
              if (a[1]! > 100) a[2] = 50;
              else a[3] = 60;
              return x.mul(a[1]!).add(a[2]!);
            },
            args: (call) => [values([2], call * 3 + 4)],
            state: () => a,
          };
        },
        { check: 2, ...mode },
      );
      expect(reasons).toEqual(isClamped ? ['number-needed'] : []);
    }
  }
});
