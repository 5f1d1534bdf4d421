import { describe, expect, it } from 'vitest';
import { rand } from '../../runtime/ops/random/drawn.ts';
import {
  bernoulli,
  multinomial,
  randint,
  randLike,
  randnLike,
  randperm,
} from '../../runtime/ops/random/random.ts';
import { seed } from '../../runtime/random/seed.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from './eager.ts';

const draw = (make: () => Tensor): number[] => tidy(() => [...make().dataSync()]);

/** How often each of `count` values was drawn, as a share. */
function shares(values: readonly number[], count: number): number[] {
  const result = new Array<number>(count).fill(0);
  for (const value of values) result[value]! += 1 / values.length;
  return result;
}

const draws: Readonly<Record<string, { readonly make: () => Tensor; readonly takes: number }>> = {
  randint: { make: () => randint(2, 9, [3, 5]), takes: 15 },
  randLike: { make: () => randLike(tensor([[1, 2, 3]])), takes: 3 },
  randnLike: { make: () => randnLike(tensor([[1, 2, 3]])), takes: 3 },
  bernoulli: { make: () => bernoulli(tensor([0.2, 0.8])), takes: 2 },
  randperm: { make: () => randperm(11), takes: 11 },
  multinomial: { make: () => multinomial(tensor([1, 2, 3]), 2), takes: 3 },
  'multinomial with replacement': {
    make: () => multinomial(tensor([1, 2, 3]), 4, true),
    takes: 12,
  },
};

describe('random draws', () => {
  for (const [name, { make, takes }] of Object.entries(draws)) {
    it(`${name} depends on the seed alone, takes ${takes} numbers, and gives all but itself back`, () => {
      seed(8);
      const first = draw(make);
      const next = draw(() => rand([2]));
      seed(8);
      expect(draw(make)).toEqual(first);
      seed(8);
      draw(() => rand([takes]));
      expect(draw(() => rand([2]))).toEqual(next);
      const before = allocated();
      const x = tidy(make);
      expect(allocated() - before).toBe(Math.ceil((x.numel() * 4) / 64) * 64);
      x.dispose();
      expect(allocated()).toBe(before);
    });
  }

  it('randint draws every integer of its range equally often', () => {
    seed(1);
    const values = draw(() => randint(-1, 4, [20000]));
    for (const share of shares(
      values.map((value) => value + 1),
      5,
    )) {
      expect(share).toBeCloseTo(0.2, 1.8);
    }
    tidy(() => {
      expect(randint(0, 2, [3]).dtype).toBe('int32');
      expect(randint(0, 2, [3], { dtype: 'float32' }).dtype).toBe('float32');
    });
    expect(() => randint(3, 3, [1])).toThrow('not a range of integers');
    expect(() => randint(0, 2 ** 25, [1])).toThrow('24 bits');
  });

  it('randperm holds every number once', () => {
    seed(2);
    const values = draw(() => randperm(100));
    expect(values).not.toEqual(values.toSorted((a, b) => a - b));
    expect(values.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(draw(() => randperm(0))).toEqual([]);
  });

  it('bernoulli is 1 with the given probability', () => {
    seed(3);
    const values = draw(() => bernoulli(tensor([0, 0.25, 1]).repeat([4000])));
    const mean = (start: number) =>
      values.filter((_, i) => i % 3 === start).reduce((a, b) => a + b, 0) / 4000;
    expect(mean(0)).toBe(0);
    expect(mean(1)).toBeCloseTo(0.25, 1.5);
    expect(mean(2)).toBe(1);
  });

  it('multinomial draws by weight, and each entry once without replacement', () => {
    seed(4);
    const values = draw(() => multinomial(tensor([1, 0, 3]), 8000, true));
    const [first, never, last] = shares(values, 3);
    expect(first).toBeCloseTo(0.25, 1.5);
    expect(never).toBe(0);
    expect(last).toBeCloseTo(0.75, 1.5);
    const rows = draw(() => multinomial(tensor([[1, 2, 3, 4]]).repeat([50, 1]), 4));
    for (let r = 0; r < 50; r++) {
      expect(rows.slice(r * 4, r * 4 + 4).toSorted()).toEqual([0, 1, 2, 3]);
    }
    expect(() => multinomial(tensor([1, 1]), 3)).toThrow('not a number of draws');
  });
});
