/** Losses and targets of another shape: refused where PyTorch refuses them, else broadcast as it does. */

import { describe, expect, it } from 'vitest';
import * as ours from '../../runtime/index.ts';
import { type Tensor, tensor } from '../ops/eager.ts';

const { tidy } = ours;
type Loss = (x: Tensor, target: Tensor, options: { reduction: 'none' }) => Tensor;

const column = () => tensor([[0.2], [0.7], [0.4]]);
const row = () => tensor([[1, -1, 1, 1]]);

describe.each([
  ['binaryCrossEntropy', ours.binaryCrossEntropy],
  ['binaryCrossEntropyWithLogits', ours.binaryCrossEntropyWithLogits],
  ['softMarginLoss', ours.softMarginLoss],
] as [string, Loss][])('%s', (name, loss) => {
  it.each([
    ['scores [3, 1] and targets [3]', () => tensor([1, 1, 1])],
    ['a column and a row', row],
  ])('refuses %s', (_name, target) => {
    tidy(() => {
      const run = () => loss(column(), target(), { reduction: 'none' });
      expect(run).toThrow(ours.ShapeError);
      expect(run).toThrow(`${name}: the target has another shape`);
    });
  });
});

it('softMarginLoss takes a target that broadcasts to the input', () => {
  tidy(() => {
    const [x, target] = [tensor([[0.2, 0.7, 0.4]]), tensor([1, -1, 1])];
    const whole = ours.softMarginLoss(x, target.reshape([1, 3]), { reduction: 'none' });
    const found = ours.softMarginLoss(x, target, { reduction: 'none' });
    expect(found.toArraySync()).toEqual(whole.toArraySync());
  });
});

it('hingeEmbeddingLoss compares broadcast operands', () => {
  tidy(() => {
    const [x, target] = [column().requiresGrad_(), row()];
    const shape = [3, 4];
    const found = ours.hingeEmbeddingLoss(x, target, { reduction: 'none' });
    const wide = ours.expand(x, shape);
    const whole = ours.hingeEmbeddingLoss(wide, ours.expand(target, shape), { reduction: 'none' });
    expect(found.toArraySync()).toEqual(whole.toArraySync());
    const gradients = [found, whole].map((own) => ours.grad(own.sum(), [x])[0]!.toArraySync());
    expect(gradients[0]).toEqual(gradients[1]);
  });
});

it('cosineEmbeddingLoss takes one target for all rows', () => {
  tidy(() => {
    const [a, b] = [
      tensor([
        [1, 2],
        [3, -1],
      ]),
      tensor([
        [2, 1],
        [1, 1],
      ]),
    ];
    const found = ours.cosineEmbeddingLoss(a, b, tensor(1), { reduction: 'none' });
    const whole = ours.cosineEmbeddingLoss(a, b, tensor([1, 1]), { reduction: 'none' });
    expect(found.toArraySync()).toEqual(whole.toArraySync());
  });
});

it("klDiv has a batch mean of a single number, as PyTorch's", () => {
  tidy(() => {
    const [x, target] = [tensor(-0.5), tensor(0.4)];
    const mean = ours.klDiv(x, target, { reduction: 'batchmean' });
    expect(mean.itemSync()).toBe(ours.klDiv(x, target, { reduction: 'sum' }).itemSync());
  });
});
