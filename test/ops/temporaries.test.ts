import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { maxPool2d } from '../../runtime/ops/convolution/max-pool.ts';
import { crossEntropy, mseLoss } from '../../runtime/ops/loss/class-losses.ts';
import { softmax } from '../../runtime/ops/normalization/softmax.ts';
import { where } from '../../runtime/ops/pointwise/pointwise.ts';
import { linear } from '../../runtime/ops/products/matmul.ts';
import { argmax } from '../../runtime/ops/reduce/extremes.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import { allocated, spread, type Tensor, tensor } from './eager.ts';

const float = (...shape: number[]) => tensor(spread(shape), { shape });
const int = (...values: number[]) => tensor(Int32Array.from(values));
const strided = () => {
  using x = float(3, 2, 4);
  return x.permute([2, 0, 1]);
};

interface Sample {
  readonly inputs: () => Tensor[];
  readonly run: (...inputs: Tensor[]) => Tensor;
}

/** Functions that are made of several ops, with inputs that need all of them. */
const samples: Readonly<Record<string, Sample>> = {
  'add of mixed dtypes': { inputs: () => [int(1, 2), float(2)], run: (a, b) => a.add(b) },
  'add of a fraction to integers': { inputs: () => [int(1, 2)], run: (a) => a.add(0.5) },
  'division of integers': { inputs: () => [int(1, 2), int(3, 4)], run: (a, b) => a.div(b) },
  'power of integers': { inputs: () => [int(1, 2)], run: (a) => a.pow(2) },
  'exp of integers': { inputs: () => [int(1, 2)], run: (a) => a.exp() },
  'comparison of mixed dtypes': { inputs: () => [int(1, 2), float(2)], run: (a, b) => a.lt(b) },
  'where with a mask of numbers': {
    inputs: () => [int(0, 1), int(1, 2), float(2)],
    run: (test, a, b) => where(test, a, b),
  },
  'sum of bool': { inputs: () => [tensor([true, false, true])], run: (a) => a.sum() },
  mean: { inputs: () => [strided()], run: (a) => a.mean(1) },
  'reshape that copies': { inputs: () => [strided()], run: (a) => a.reshape([24]) },
  'reshape of a strided view': { inputs: () => [strided()], run: (a) => a.unsqueeze(0) },
  'select, of a strided view': { inputs: () => [strided()], run: (a) => a.select(1, 2) },
  'argmax of a scalar': { inputs: () => [tensor(3)], run: (a) => argmax(a, 0) },
  'product of vectors': { inputs: () => [float(3), float(3)], run: (a, b) => a.matmul(b) },
  'row times matrices': { inputs: () => [float(3), float(2, 3, 4)], run: (a, b) => a.matmul(b) },
  'matrices times column': { inputs: () => [float(2, 4, 3), float(3)], run: (a, b) => a.matmul(b) },
  'batched product': { inputs: () => [float(2, 4, 3), float(3, 2)], run: (a, b) => a.matmul(b) },
  'broadcast product': {
    inputs: () => [float(4, 3), float(2, 3, 2)],
    run: (a, b) => a.matmul(b),
  },
  linear: {
    inputs: () => [float(2, 2, 3), float(4, 3), float(4)],
    run: (x, w, b) => linear(x, w, b),
  },
  'softmax of a strided tensor': { inputs: () => [strided()], run: (x) => softmax(x) },
  conv2d: {
    inputs: () => [float(1, 2, 4, 4), float(3, 2, 2, 2), float(3)],
    run: (x, w, b) => conv2d(x, w, b),
  },
  maxPool2d: { inputs: () => [float(1, 2, 4, 4)], run: (x) => maxPool2d(x, 2) },
  crossEntropy: {
    inputs: () => [float(2, 3), int(0, 2)],
    run: (scores, target) => crossEntropy(scores, target),
  },
  mseLoss: { inputs: () => [float(2, 3), float(2, 3)], run: (x, target) => mseLoss(x, target) },
};

function ownBytes(output: Tensor, inputs: readonly Tensor[]): number {
  if (inputs.some(({ holder }) => holder === output.holder)) return 0;
  return Math.ceil((output.numel() * dtypes[output.dtype].bytes) / 64) * 64;
}

describe('only the result stays allocated', () => {
  for (const [name, { inputs, run }] of Object.entries(samples)) {
    it(name, () => {
      const before = allocated();
      const own = inputs();
      const withInputs = allocated();
      const output = run(...own);
      expect(allocated() - withInputs).toBe(ownBytes(output, own));
      output.dispose();
      expect(allocated()).toBe(withInputs);
      for (const tensor of own) tensor.dispose();
      expect(allocated()).toBe(before);
    });
  }

  it('in-place ops allocate nothing, also with an operand of another dtype', () => {
    using x = float(2);
    using y = int(1, 2);
    const before = allocated();
    x.add_(y).mul_(y).copy_(y).fill_(2);
    expect(allocated()).toBe(before);
    expect([...x.dataSync()]).toEqual([2, 2]);
  });

  it('an op that fails gives back what it had allocated', () => {
    using scores = float(2, 3);
    using labels = int(0, 7);
    const before = allocated();
    expect(() => noGrad(() => crossEntropy(scores, labels))).toThrow('a label is not a class');
    expect(allocated()).toBe(before);
  });
});
