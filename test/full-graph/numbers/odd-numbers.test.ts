/** Numbers at the ends of their range, as arguments and read in the program: captured results are those of eager calls. */

import { describe, expect, it } from 'vitest';
import * as T from '../../../src/index.ts';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

const numbers = [
  3,
  0,
  -0,
  0,
  2.5,
  0.1,
  Number.NaN,
  Infinity,
  -Infinity,
  2 ** 31,
  2 ** 53,
  -3,
  -0,
  1,
  0,
];

/** Methods of a tensor and one number. */
const methods = [
  ...['add', 'sub', 'mul', 'div', 'pow', 'remainder', 'fmod', 'floorDivide', 'rsub'],
  ...['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'clampMin', 'clampMax', 'clamp', 'xlogy'],
  ...['leakyRelu', 'elu', 'celu', 'hardshrink', 'softshrink', 'softplus', 'logit', 'nanToNum'],
  'floatPower',
] as const;

type Step = (x: Tensor, n: number) => Tensor;

const ofMethod =
  (name: string): Step =>
  (x, n) =>
    (x as unknown as Record<string, (n: number) => Tensor>)[name]!(n);

const steps: Readonly<Record<string, Step>> = {
  ...Object.fromEntries(methods.map((name) => [name, ofMethod(name)])),
  'add, alpha': (x, n) => x.add(x, { alpha: n }),
  addcmul: (x, n) => x.addcmul(x, x, { value: n }),
  lerp: (x, n) => x.lerp(x.mul(2), n),
  where: (x, n) => T.where(x.gt(0), x, n),
  maskedFill: (x, n) => x.maskedFill(x.gt(0), n),
  fullLike: (x, n) => T.fullLike(x, n).add(x),
  'clamp, both': (x, n) => x.clamp({ min: -1, max: n }),
  hardtanh: (x, n) => x.hardtanh(-1, n),
  threshold: (x, n) => x.threshold(1, n),
  mul_: (x, n) => x.mul(1).mul_(n),
  clamp_: (x, n) => x.mul(1).clamp_(n),
  fill_: (x, n) => x.mul(1).fill_(n),
  maskedFill_: (x, n) => x.mul(1).maskedFill_(x.gt(0), n),
};

const values = [0, -0, 1.5, -2.25, Number.NaN, Infinity, -Infinity, 3];

function outcome(step: (x: Tensor) => Tensor): unknown {
  const x = tensor(values).requiresGrad_();
  try {
    const result = step(x);
    if (result.requiresGrad) result.sum().backward();
    return [result.dtype, result.tolist(), x.grad?.tolist()];
  } catch (error) {
    return [(error as Error).name, (error as Error).message.split('\n')[0]];
  }
}

describe.each(Object.entries(steps))('%s', (_, step) => {
  it('of an argument', () => {
    const captured = toStatic(step);
    for (const n of numbers) {
      expect(
        outcome((x) => captured(x, n)),
        String(n),
      ).toEqual(outcome((x) => step(x, n)));
    }
  });

  it('of a number of the program', () => {
    const captured = toStatic((x: Tensor, n: Tensor) => step(x, n.itemSync()), { fullGraph: true });
    for (const n of numbers) {
      const read = tensor(n, { dtype: 'float64' });
      expect(
        outcome((x) => captured(x, read)),
        String(n),
      ).toEqual(outcome((x) => step(x, n)));
    }
    expect(captured.stats()).toMatchObject({ translations: 1, fallbacks: [] });
  });
});

it('zeros of both signs are told apart among the numbers of like ops', () => {
  const step = (xs: readonly Tensor[]): Tensor[] =>
    xs.map((x, i) => x.mul_(i % 2 === 0 ? 0 : -0).add_(i % 3 === 0 ? 0 : -0));
  const made = () => [1, 2, 3, 4, 5, 6].map((n) => tensor([n, -n, 0, -0]));
  const results = (own: readonly Tensor[]) => own.map((x) => x.tolist());
  expect(results(toStatic(step)(made()))).toEqual(results(step(made())));
});
