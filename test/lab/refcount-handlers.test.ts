import { describe, expect, it } from 'vitest';
import { memory, type Tensor, tensor } from '../../src/index.ts';
import { refcounted } from '../../src/lab/eager-refcount.ts';

const fail = (): never => {
  throw new Error('failed');
};

describe('reference counting with try', () => {
  it('keeps what only the handler of a waiting frame reads', () => {
    const inner = (t: Tensor): Tensor => {
      const doubled = t.mul(2);
      fail();
      return doubled;
    };
    const run = refcounted((x: Tensor) => {
      const kept = x.mul(3);
      try {
        return inner(kept);
      } catch {
        return kept.add(1);
      }
    });
    using x = tensor([1, 2]);
    const before = memory.stats().allocated;
    using result = run(x);
    expect([...result.dataSync()]).toEqual([4, 7]);
    result.dispose();
    expect(memory.stats().allocated).toBe(before);
  });

  it('refuses async functions', () => {
    const run = refcounted(async (x: Tensor) => x);
    expect(() => run(tensor([1]))).toThrow('refcounted: the function is async');
  });
});
