import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  nn,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  tripletMarginLoss,
  tripletMarginWithDistanceLoss,
} from '../../src/index.ts';

const leaf = (...rows: number[][]) => tensor(rows, { requiresGrad: true });

const triplet = (): [anchor: Tensor, positive: Tensor, negative: Tensor] => [
  leaf([0.3, -1.2, 0.8], [1.5, 0.2, -0.4]),
  leaf([0.1, -0.7, 1.1], [-0.5, 0.9, 0.3]),
  leaf([0.9, -1, 0.2], [1.1, 0.6, -0.9]),
];

const manhattan = (x: Tensor, y: Tensor): Tensor => x.sub(y).abs().sum(1);

type Loss = (...triplet: [Tensor, Tensor, Tensor]) => Tensor;

/** A loss, its values as PyTorch computes them, and the gradient of their sum with respect to the anchor. */
const cases: Readonly<Record<string, [loss: Loss, losses: number[], gradient: number[]]>> = {
  'pairwise distances by default': [
    (a, p, n) => tripletMarginWithDistanceLoss(a, p, n),
    [1.6106341],
    [0.5063456, -0.290846, -0.587456, 0.183204, 0.1080671, -0.487972],
  ],
  'a distance': [
    (a, p, n) => tripletMarginWithDistanceLoss(a, p, n, { distanceFunction: manhattan }),
    [1.85],
    [1, 0, -1, 0, 0, -1],
  ],
  'a distance, swapped, of each': [
    (a, p, n) =>
      new nn.TripletMarginWithDistanceLoss({
        distanceFunction: manhattan,
        swap: true,
        reduction: 'none',
      }).forward(a, p, n),
    [0.6, 3.1],
    [2, 0, -2, 0, 0, -2],
  ],
};

describe('tripletMarginWithDistanceLoss', () => {
  it.each(Object.entries(cases))('%s: as PyTorch, also captured', (_, [loss, losses, gradient]) => {
    tidy(() => {
      const captured = toStatic(loss, { fullGraph: true });
      const [eager, once] = [loss, captured].map((run) => {
        const operands = triplet();
        const values = run(...operands);
        values.sum().backward();
        const gradients = operands.map(({ grad }) => [...grad!.dataSync()]);
        return { values: [...values.dataSync()], gradients };
      });
      expect(once).toEqual(eager);
      for (const [i, value] of losses.entries()) expect(eager!.values[i]).toBeCloseTo(value, 5);
      for (const [i, value] of gradient.entries())
        expect(eager!.gradients[0]![i]).toBeCloseTo(value, 5);
    });
  });

  it('is tripletMarginLoss with its distance', () => {
    tidy(() => {
      const own = tripletMarginWithDistanceLoss(...triplet(), { swap: true, margin: 2 });
      const other = tripletMarginLoss(...triplet(), { swap: true, margin: 2 });
      expect(own.itemSync()).toBe(other.itemSync());
    });
  });

  it('rejects a margin of 0 and what is no function', () => {
    tidy(() => {
      const wrong = (options: object) => () => tripletMarginWithDistanceLoss(...triplet(), options);
      expect(wrong({ margin: 0 })).toThrow('margin = 0');
      expect(wrong({ distanceFunction: 2 })).toThrow(ArgumentError);
      expect(wrong({ distance: manhattan })).toThrow('distance');
    });
  });
});
