/** A small function to print at every stage: `npm run tostatic -- trace examples/stages.ts`. */

import { ones, randn, relu, seed, type Tensor } from '../src/index.ts';

const scale = 0.5;

export function layer(x: Tensor, weights: Tensor[]): Tensor {
  for (const weight of weights) x = relu(x.matmul(weight).mul(scale));
  return x.sum();
}

export function inputs(): [Tensor, Tensor[]] {
  seed(1);
  return [ones([2, 3]), [randn([3, 4]).requiresGrad_(), randn([4, 4]).requiresGrad_()]];
}
