/** What the texts of calls refer to: small tensors and modules, made anew for each call. */

import { randomFillSync } from 'node:crypto';
import * as distributions from '../../../runtime/distributions/index.ts';
import { data, nn, ones, optim, rand, randint, type Tensor, tensor } from '../../../src/index.ts';

const labels = (...values: number[]): Tensor => tensor(values, { dtype: 'int32' });

/** Getters, so that a call only makes what it names. */
const makers = {
  /** Square matrix, vector, matrix, batch, image, volume: of float32 in [0, 1). */
  m: () => rand([3, 3]),
  v: () => rand([3]),
  x: () => rand([2, 3]),
  t: () => rand([2, 3, 3]),
  image: () => rand([1, 2, 4, 4]),
  volume: () => rand([1, 2, 4, 4, 4]),
  one: () => rand([]),
  /** A leaf, and what was computed from one. */
  leaf: () => ones([3], { requiresGrad: true }),
  y: () => ones([3], { requiresGrad: true }).mul(2).sum(),
  trained: () => {
    const leaf = makers.leaf();
    leaf.sum().backward();
    return leaf;
  },
  symmetric: () => tensor([2, 1, 1, 2], { shape: [2, 2] }),
  i: () => labels(0, 1, 2),
  ii: () => randint(0, 3, [3, 3]),
  b: () => rand([3, 3]).gt(0.5),
  lin: () => new nn.Linear(3, 3),
  sgd: () => new optim.SGD([ones([3], { requiresGrad: true })], { lr: 0.1, momentum: 0.9 }),
  /** An optimizer and two schedules of it. */
  schedules: () => {
    const sgd = makers.sgd();
    return [sgd, [new optim.StepLR(sgd, 2), new optim.StepLR(sgd, 3)]];
  },
  normal: () => new distributions.Normal(rand([3]), 1),
  set: () => new data.TensorDataset(rand([4, 3]), rand([4])),
  bytes: () => randomFillSync(new Uint8Array(8)),
  f: () => (value: unknown) => value,
} as const;

const world: object = Object.create(null, {
  ...Object.fromEntries(Object.entries(makers).map(([name, get]) => [name, { get }])),
  ...Object.fromEntries(
    Object.entries({ nn, optim, data, distributions, rand, randint, labels }).map(
      ([name, value]) => [name, { value }],
    ),
  ),
});

type Make = (of: object) => unknown[];
/** Each text is compiled once. */
const compiled = new Map<string, Make>();

/** The arguments that a text such as `x, [2, 3]` stands for. */
export function argumentsOf(text: string): unknown[] {
  let make = compiled.get(text);
  if (!make) {
    make = new Function('world', `with (world) return [${text}]`) as Make;
    compiled.set(text, make);
  }
  return make(world);
}
