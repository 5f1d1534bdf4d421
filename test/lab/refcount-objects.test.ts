/** The eager baseline counts references through lists, objects and closures, as a language with reference counting does. */

import { describe, expect, it } from 'vitest';
import { noGrad, refcounted, type Tensor, tidy } from '../../src/index.ts';
import { bytesNow, bytesOf, data, measure } from '../run-program/memory-counter.ts';

const n = 64;

/** Peak above what was there, in tensors of `n` elements; results and leftovers are checked. */
function peakOf(fn: (x: Tensor) => Tensor): number {
  const x = data([n]);
  const before = bytesNow();
  const { result, peak } = measure(() => noGrad(() => refcounted(fn)(x)));
  const expected = noGrad(() => tidy(() => fn(x)));
  expect([...result.dataSync()]).toEqual([...expected.dataSync()]);
  for (const each of [result, expected]) each.dispose();
  expect(bytesNow()).toBe(before);
  x.dispose();
  return peak / bytesOf(n);
}

describe('lab/refcounted objects', () => {
  it('what a closure captured goes with the closure', () => {
    const shifted = (given: Tensor) => {
      const plus = () => given.add(1);
      return plus();
    };
    expect(peakOf((x) => shifted(shifted(shifted(shifted(x)))))).toBe(2);
  });

  it('what lies in a list goes with the list', () => {
    const step = ([a, b]: readonly Tensor[]): Tensor[] => [a!.tanh(), b!.exp()];
    expect(
      peakOf((x) => {
        let state = [x.mul(2), x.mul(3)];
        for (let i = 0; i < 4; i++) state = step(state);
        return state[0]!.add(state[1]!);
      }),
    ).toBe(4);
  });

  it('an element stays while its list is read again', () => {
    expect(
      peakOf((x) => {
        const parts = x.mul(2).unbind(0);
        const first = parts[0]!.add(parts[1]!);
        let sum = first;
        for (const part of parts) sum = sum.add(part);
        return sum.add(parts[0]!).expand([n]).add(x);
      }),
    ).toBeLessThan(3);
  });

  it('a property that is assigned again gives back what it held', () => {
    expect(
      peakOf((x) => {
        const state = { y: x.mul(2) };
        for (let i = 0; i < 5; i++) state.y = state.y.tanh();
        return state.y.add(1);
      }),
    ).toBe(2);
  });

  it('inside of tidy each value goes at its last use', () => {
    expect(peakOf((x) => tidy(() => x.mul(2).tanh().exp().tanh().add(x)))).toBe(2);
  });

  it('what an object from elsewhere holds stays', () => {
    const seen: Tensor[] = [];
    const before = bytesNow();
    const x = data([n]);
    const keep = refcounted((given: Tensor) => {
      const doubled = given.mul(2);
      seen.push(doubled);
      return doubled.add(1);
    });
    const result = noGrad(() => keep(x));
    expect([...seen[0]!.dataSync()]).toEqual([...x.dataSync()].map((value) => value * 2));
    for (const each of [x, result, ...seen]) each.dispose();
    expect(bytesNow()).toBe(before);
  });
});
