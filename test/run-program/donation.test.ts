/** Conformance 110: what nobody reads after a subgraph dies inside it. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  breakGraph,
  type MemoryChoice,
  memory,
  noGrad,
  type StaticFunction,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { bytesNow, bytesOf, data, measure } from './memory-counter.ts';

const n = 256;
let before = 0;
beforeEach(() => {
  before = bytesNow();
});
afterEach(() => {
  expect(bytesNow()).toBe(before);
});

/** The second call's peak and bytes, when everything is compiled. */
function secondCall(fn: (...args: Tensor[]) => Tensor, ...args: Tensor[]) {
  fn(...args).dispose();
  const measured = measure(() => fn(...args));
  const values = [...measured.result.dataSync()];
  measured.result.dispose();
  for (const arg of args) arg.dispose();
  return { peak: measured.peak, kept: measured.kept, values };
}

function compared(fn: (...args: Tensor[]) => Tensor, makeArgs: () => Tensor[]) {
  const way = (memory: MemoryChoice) => secondCall(toStatic(fn, { memory }), ...makeArgs());
  const [off, on] = [way({ donate: false }), way('planned')];
  const eager = tidy(() => noGrad(() => [...fn(...makeArgs()).dataSync()]));
  expect(off.values).toEqual(eager);
  expect(on.values).toEqual(eager);
  return { off, on };
}

describe('run-program/donation', () => {
  it('frees a dead variable of the caller before the subgraph ends (110)', () => {
    const { off, on } = compared(
      (x: Tensor) => {
        const y = x.mul(2);
        breakGraph();
        // y dies in the sum; the vectors after it are as large.
        const s = y.sum(0, { keepDim: true });
        return x.mul(s).tanh();
      },
      () => [data([n])],
    );
    expect(off.peak).toBe(2 * bytesOf(n) + 64);
    expect(on.peak).toBe(bytesOf(n) + 64);
    expect(on.kept).toBe(bytesOf(n));
  });

  it('writes over a dead variable where the kernel allows (110)', () => {
    const { off, on } = compared(
      (x: Tensor) => {
        const y = x.mul(2);
        breakGraph();
        return y.tanh();
      },
      () => [data([n])],
    );
    expect([off.peak, on.peak]).toEqual([2 * bytesOf(n), bytesOf(n)]);
  });

  it('hands values over from subgraph to subgraph', () => {
    const { off, on } = compared(
      (x: Tensor) => {
        let y = x.mul(2);
        for (let i = 0; i < 4; i++) {
          breakGraph();
          y = y.tanh().add(1);
        }
        return y;
      },
      () => [data([n])],
    );
    expect([off.peak, on.peak]).toEqual([2 * bytesOf(n), bytesOf(n)]);
  });

  it('never takes what the caller holds', () => {
    const x = data([n]);
    const values = [...x.dataSync()];
    const fn = toStatic((given: Tensor) => {
      breakGraph();
      return given.tanh();
    });
    for (let i = 0; i < 3; i++) fn(x).dispose();
    expect([...x.dataSync()]).toEqual(values);
    x.dispose();
  });

  it('never takes what another variable, an object or native code still holds', () => {
    const seen: Tensor[] = [];
    const fn = toStatic((x: Tensor) => {
      const y = x.mul(2);
      const same = y;
      const box = { inside: x.mul(3) };
      const shown = x.mul(4);
      seen.push(shown);
      breakGraph();
      const first = y.tanh();
      const second = box.inside.tanh();
      const third = shown.tanh();
      breakGraph();
      return [first, second, third, same, box.inside] as const;
    });
    const x = data([n]);
    for (let i = 0; i < 3; i++) {
      const results = fn(x);
      const doubled = noGrad(() => x.mul(2));
      const tripled = noGrad(() => x.mul(3));
      const fourfold = noGrad(() => x.mul(4));
      expect([...results[3].dataSync()]).toEqual([...doubled.dataSync()]);
      expect([...results[4].dataSync()]).toEqual([...tripled.dataSync()]);
      expect([...seen[0]!.dataSync()]).toEqual([...fourfold.dataSync()]);
      for (const each of [...results, doubled, tripled, fourfold, ...seen]) each.dispose();
      seen.length = 0;
    }
    x.dispose();
  });

  it('keeps what backward reads, and gives gradients as before', () => {
    const gradients = (choice: MemoryChoice) => {
      const [x, w] = [data([n]), data([n], { salt: 1 }).requiresGrad_()];
      const fn: StaticFunction<(x: Tensor, w: Tensor) => Tensor> = toStatic(
        (x: Tensor, w: Tensor) => {
          const y = x.mul(w).exp();
          breakGraph();
          const z = y.tanh();
          breakGraph();
          return z.mul(w).sum();
        },
        { memory: choice },
      );
      let result: number[] = [];
      for (let i = 0; i < 3; i++) {
        const loss = fn(x, w);
        loss.backward();
        loss.dispose();
        result = [...w.grad!.dataSync()];
        w.grad!.dispose();
        w.grad = null;
      }
      x.dispose();
      w.dispose();
      return result;
    };
    expect(gradients('planned')).toEqual(gradients({ donate: false }));
  });

  it('keeps the inputs of a call that a kernel may refuse', () => {
    const fn = toStatic((x: Tensor, index: Tensor) => {
      const y = x.mul(2);
      breakGraph();
      return y.tanh().indexSelect(0, index);
    });
    const x = data([n]);
    const [good, bad] = [tensor(Int32Array.of(0, 1)), tensor(Int32Array.of(0, n))];
    fn(x, good).dispose();
    // What ran natively before the error is collected, as in eager execution.
    expect(() => tidy(() => fn(x, bad))).toThrow('out of range');
    fn(x, good).dispose();
    for (const each of [x, good, bad]) each.dispose();
  });

  it('an entry that is called with and without a dead input has a plan for both', () => {
    const fn = toStatic((x: Tensor, own: boolean) => {
      let y = x;
      if (own) y = x.mul(2);
      breakGraph();
      return y.tanh();
    });
    const x = data([n]);
    const values = [...x.dataSync()];
    for (const own of [true, false, true, false]) {
      memory.reset('cpu');
      const start = bytesNow();
      const y = fn(x, own);
      expect(memory.stats('cpu').peakAllocated - start).toBe(bytesOf(n));
      y.dispose();
      expect([...x.dataSync()]).toEqual(values);
    }
    x.dispose();
  });
});

describe('run-program/native calls between subgraphs', () => {
  it('what a tensor function makes natively goes with its last register, and keeps no operand', () => {
    const fn = toStatic((x: Tensor) => {
      let y = x.mul(2);
      for (let i = 0; i < 3; i++) {
        // The break is inside the loop's iteration: what follows it may run natively.
        breakGraph();
        const [large] = y.topk(n);
        y = large.tanh();
      }
      return y;
    });
    const x = data([n]);
    for (let i = 0; i < 3; i++) fn(x).dispose();
    x.dispose();
  });
});
