/** What can't be traced runs natively with eager results; with fullGraph the error says what it is. */

import { describe, expect, it } from 'vitest';
import { ones, type Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../../trace/same-as-eager.ts';

class Counter {
  #count = 0;
  readonly #weight = ones([2]);
  step(x: Tensor, isWrong: boolean): Tensor {
    this.#count++;
    const y = x.mul(this.#weight);
    if (isWrong) throw new RangeError(`step ${this.#count}`);
    return y;
  }
}

interface Sums {
  readonly [index: number]: Tensor;
  sum(): Tensor;
}

const sums = {
  sum(this: Sums): Tensor {
    return this[0]!.add(this[1]!);
  },
};

const untraced: Record<string, [fn: (x: Tensor) => unknown, given: RegExp]> = {
  'the prototype of an array': [
    (x) => {
      const list = [x, x.mul(2)];
      Object.setPrototypeOf(list, sums);
      return (list as unknown as Sums).sum();
    },
    /given: +the prototype of an array is set/,
  ],
  'the stack of an error': [
    (x) => x.mul(typeof new Error('here').stack === 'string' ? 2 : 3),
    /given: +the stack of an error, which the engine writes/,
  ],
};

describe('what a graph ends at', () => {
  for (const [name, [fn, given]] of Object.entries(untraced)) {
    it(`gives eager results, and its name with fullGraph: ${name}`, async () => {
      const { breaks } = expectSameAsEager(() => ({ fn, args: () => [values([2])] }), { calls: 3 });
      expect(breaks).toBe(1);
      await expect(async () => toStatic(fn, { fullGraph: true })(values([2]))).rejects.toThrow(
        given,
      );
    });
  }

  it.each([false, true])(
    'throws from a method with private fields as in eager execution, fullGraph: %s',
    (fullGraph) => {
      const make = (): World => {
        const counter = new Counter();
        return {
          fn: (x: Tensor, call: number) => counter.step(x, call % 2 === 1),
          args: (call) => [values([2]), call],
        };
      };
      expectSameAsEager(make, { calls: 6, fullGraph });
    },
  );
});
