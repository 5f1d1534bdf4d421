import { describe, expect, it } from 'vitest';
import { rand, randn } from '../../runtime/ops/random/drawn.ts';
import { seed } from '../../runtime/random/seed.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import './eager.ts';

function draw(make: typeof rand, shape: Shape): number[] {
  using x = make(shape);
  return [...x.dataSync()];
}

const moments = (values: number[]) => {
  const mean = values.reduce((a, b) => a + b) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  return { mean, variance };
};

describe.each([
  ['rand', rand],
  ['randn', randn],
] as const)('%s', (_name, make) => {
  it('draws the same numbers after the same seed, others after another', () => {
    seed(1);
    const first = [draw(make, [7]), draw(make, [2, 3])];
    seed(1);
    expect([draw(make, [7]), draw(make, [2, 3])]).toEqual(first);
    seed(2);
    expect(draw(make, [7])).not.toEqual(first[0]);
  });

  it('takes the next numbers of one stream, however the draws are cut', () => {
    seed(3);
    const whole = draw(make, [32]);
    seed(3);
    expect([...draw(make, [5]), ...draw(make, [3, 8]), ...draw(make, [3])]).toEqual(whole);
  });
});

describe('distributions', () => {
  it('rand is uniform in [0, 1)', () => {
    seed(4);
    const values = draw(rand, [20_000]);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    const { mean, variance } = moments(values);
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01);
    expect(Math.abs(variance - 1 / 12)).toBeLessThan(0.003);
  });

  it('randn is standard normal', () => {
    seed(5);
    const values = draw(randn, [20_000]);
    const { mean, variance } = moments(values);
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.04);
    const inside = values.filter((value) => Math.abs(value) < 1).length / values.length;
    expect(Math.abs(inside - 0.6827)).toBeLessThan(0.01);
  });
});
