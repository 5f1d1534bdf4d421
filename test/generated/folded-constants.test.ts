/** Functions of constant tensors: what is folded is what the kernels compute. */

import { expect, it } from 'vitest';
import * as functions from '../../runtime/ops/index.ts';
import { type DType, full, type Tensor, toStatic } from '../../src/index.ts';
import { expectSame } from '../expect-same.ts';

const random = /rand|dropout|bernoulli|poisson|normal|like/i;

/** All functions that map one tensor to another of its shape. */
const ofOneTensor = Object.entries(functions as Record<string, unknown>).flatMap(([name, f]) => {
  if (typeof f !== 'function' || random.test(name) || name.endsWith('_')) return [];
  try {
    const map = f as (x: Tensor) => Tensor;
    const { dtype, shape } = map(full([3], 0.5));
    return dtype === 'float32' && String(shape) === '3' ? [map] : [];
  } catch {
    return [];
  }
});

it.each(['float32', 'float64'] satisfies DType[])('all functions of one %s tensor', (dtype) => {
  expect(ofOneTensor.length).toBeGreaterThan(50);
  for (const value of [-0, -2.5, 0.1, Number.NaN]) {
    const results = () => ofOneTensor.map((map) => map(full([3], value, { dtype })));
    const numbers = (all: readonly Tensor[]) => all.map((x) => [...x.dataSync()]);
    expectSame(numbers(toStatic(results)()), numbers(results()), String(value));
  }
});
