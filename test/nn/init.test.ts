import { describe, expect, it } from 'vitest';
import { ArgumentError, ShapeError } from '../../runtime/errors/errors.ts';
import { init, Linear } from '../../runtime/nn/index.ts';
import { normalShare } from '../../runtime/nn/normal-distribution.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { seed } from '../../runtime/random/seed.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor } from '../ops/eager.ts';

interface Statistics {
  readonly mean: number;
  readonly std: number;
  readonly low: number;
  readonly high: number;
}

function drawn(shape: Shape, initialise: (x: Tensor) => Tensor): Statistics {
  return tidy(() => {
    seed(7);
    const x = zeros(shape);
    const before = allocated();
    expect(initialise(x)).toBe(x);
    expect(allocated()).toBe(before);
    const values = [...x.dataSync()];
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    return { mean, std: Math.sqrt(variance), low: Math.min(...values), high: Math.max(...values) };
  });
}

const shape = [64, 16, 3, 3];
const [fanIn, fanOut] = [16 * 9, 64 * 9];

/** Expected standard deviation, and the bound of even distributions. */
const cases: Readonly<Record<string, readonly [(x: Tensor) => Tensor, number, boolean]>> = {
  uniform_: [(x) => init.uniform_(x, -2, 2), 2 / Math.sqrt(3), true],
  normal_: [(x) => init.normal_(x, 0, 3), 3, false],
  xavierUniform_: [(x) => init.xavierUniform_(x), Math.sqrt(2 / (fanIn + fanOut)), true],
  xavierNormal_: [(x) => init.xavierNormal_(x, 2), 2 * Math.sqrt(2 / (fanIn + fanOut)), false],
  kaimingUniform_: [(x) => init.kaimingUniform_(x), Math.sqrt(2 / fanIn), true],
  'kaimingNormal_ backward': [
    (x) => init.kaimingNormal_(x, { mode: 'fanOut', nonlinearity: 'relu' }),
    Math.sqrt(2 / fanOut),
    false,
  ],
  "kaimingNormal_ with PyTorch's name of the slope": [
    (x) => init.kaimingNormal_(x, { a: 1 }),
    Math.sqrt(1 / fanIn),
    false,
  ],
  'kaimingNormal_ of tanh': [
    (x) => init.kaimingNormal_(x, { nonlinearity: 'tanh' }),
    5 / 3 / Math.sqrt(fanIn),
    false,
  ],
};

describe('init', () => {
  for (const [name, [initialise, std, even]] of Object.entries(cases)) {
    it(`${name} has its variance`, () => {
      const found = drawn(shape, initialise);
      expect(Math.abs(found.mean)).toBeLessThan(0.04 * std);
      expect(found.std / std).toBeGreaterThan(0.97);
      expect(found.std / std).toBeLessThan(1.03);
      const bound = Math.sqrt(3) * std;
      expect(found.high <= bound && found.low >= -bound).toBe(even);
    });
  }

  it('truncNormal_ stays within its bounds', () => {
    const found = drawn([200, 50], (x) => init.truncNormal_(x, 1, 2, 0, 3));
    expect(found.low).toBeGreaterThanOrEqual(0);
    expect(found.high).toBeLessThanOrEqual(3);
    // μ + σ (φ(α) − φ(β)) / Z, with α = −½ and β = 1
    const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    const expected = 1 + (2 * (density(-0.5) - density(1))) / (normalShare(1) - normalShare(-0.5));
    expect(found.mean).toBeCloseTo(expected, 1);
    expect(() => tidy(() => init.truncNormal_(zeros([1]), 0, 1, 2, -2))).toThrow(ArgumentError);
  });

  it('constants, on parameters too, by the seed', () => {
    using layer = new Linear(3, 2);
    init.zeros_(layer.bias!);
    expect([...layer.bias!.dataSync()]).toEqual([0, 0]);
    init.ones_(layer.weight);
    init.constant_(layer.bias!, 0.5);
    expect([...layer.weight.dataSync(), ...layer.bias!.dataSync()]).toEqual([
      1, 1, 1, 1, 1, 1, 0.5, 0.5,
    ]);
    const weights = (value: number) => {
      seed(value);
      return [...init.truncNormal_(layer.weight).dataSync()];
    };
    expect(weights(1)).toEqual(weights(1));
    expect(weights(1)).not.toEqual(weights(2));
    expect(layer.weight.requiresGrad).toBe(true);
    expect(() => init.xavierNormal_(layer.bias!)).toThrow(ShapeError);
  });

  it.each([
    [
      'uniform_',
      (x: Tensor) => init.uniform_(x, -1, 1),
      (x: Tensor) => init.uniform_(x, { a: -1 }),
    ],
    ['normal_', (x) => init.normal_(x, 0, 0.02), (x) => init.normal_(x, { std: 0.02 })],
    [
      'truncNormal_',
      (x) => init.truncNormal_(x, 1, 0.5, -2, 1),
      (x) => init.truncNormal_(x, { mean: 1, std: 0.5, b: 1 }),
    ],
    [
      'xavierUniform_',
      (x) => init.xavierUniform_(x, 2),
      (x) => init.xavierUniform_(x, { gain: 2 }),
    ],
    ['xavierNormal_', (x) => init.xavierNormal_(x, 2), (x) => init.xavierNormal_(x, { gain: 2 })],
    ['orthogonal_', (x) => init.orthogonal_(x, 2), (x) => init.orthogonal_(x, { gain: 2 })],
    ['sparse_', (x) => init.sparse_(x, 0.5, 2), (x) => init.sparse_(x, { sparsity: 0.5, std: 2 })],
  ] as [string, (x: Tensor) => Tensor, (x: Tensor) => Tensor][])(
    '%s takes its arguments by position or by name',
    (_name, positional, named) => {
      const values = (initialise: (x: Tensor) => Tensor) =>
        tidy(() => {
          seed(3);
          return initialise(zeros([4, 6])).tolist();
        });
      expect(values(named)).toEqual(values(positional));
    },
  );

  it('gains are those of PyTorch', () => {
    expect(init.calculateGain('leakyRelu', 0.2)).toBeCloseTo(Math.sqrt(2 / 1.04), 12);
    expect(
      ['linear', 'conv2d', 'sigmoid'].map((name) => init.calculateGain(name as 'linear')),
    ).toEqual([1, 1, 1]);
    expect([init.calculateGain('tanh'), init.calculateGain('selu')]).toEqual([5 / 3, 0.75]);
  });
});

describe('the normal distribution', () => {
  it('has known shares', () => {
    const known = [
      [0, 0.5],
      [1, 0.8413447460685429],
      [-1.959963984540054, 0.025],
      [-3, 0.0013498980316300933],
      [-5, 2.866515718791933e-7],
      [4, 0.9999683287581669],
    ] as const;
    for (const [x, share] of known) {
      expect(normalShare(x) / share).toBeCloseTo(1, 10);
    }
  });
});
