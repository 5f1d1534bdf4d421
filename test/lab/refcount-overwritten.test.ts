import { describe, expect, it } from 'vitest';
import { noGrad, refcounted, type Tensor } from '../../src/index.ts';
import { bytesNow, bytesOf, data, measure } from '../run-program/memory-counter.ts';

const n = 64;

describe('lab/refcounted', () => {
  it('a variable that is assigned again gives back what it held', () => {
    const x = data([n]);
    const before = bytesNow();
    const fn = (given: Tensor): Tensor => {
      let y = given;
      for (let i = 0; i < 5; i++) y = y.tanh();
      return y;
    };
    const { result, peak } = measure(() => noGrad(() => refcounted(fn)(x)));
    expect(peak).toBe(2 * bytesOf(n));
    result.dispose();
    expect(bytesNow()).toBe(before);
    x.dispose();
  });

  it('not if another variable holds it too', () => {
    const x = data([n]);
    const fn = (given: Tensor): Tensor => {
      let y = given.tanh();
      const kept = y;
      y = y.exp();
      return y.add(kept);
    };
    const expected = noGrad(() => fn(x));
    const result = noGrad(() => refcounted(fn)(x));
    expect([...result.dataSync()]).toEqual([...expected.dataSync()]);
    for (const each of [x, result, expected]) each.dispose();
  });
});
