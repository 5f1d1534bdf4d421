import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  add,
  grad,
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

  /** The gradients of the sum of the squares of the gradients, as PyTorch computes them. */
  const second: Readonly<Record<string, [loss: Loss, gradient: number[]]>> = {
    'pairwise distances': [
      (a, p, n) => tripletMarginWithDistanceLoss(a, p, n, { reduction: 'sum' }),
      [
        ...[1.6845129, 3.7803815, -1.1164953, -1.8928438, 0.575859, 0.8757508],
        ...[-1.8412148, -1.7236997, 1.6453499, 0.1268124, -0.353022, 0.7153438],
        ...[0.1567019, -2.0566817, -0.5288546, 1.7660314, -0.222837, -1.5910946],
      ],
    ],
    'squares, swapped': [
      (a, p, n) =>
        tripletMarginWithDistanceLoss(a, p, n, {
          distanceFunction: (x, y) => x.sub(y).square().sum(1),
          swap: true,
          reduction: 'sum',
        }),
      [
        ...[-3.2, -5.6, 2.4, 19.2, -8.8, -1.6, -8, 6.4, 9.6, -28.8, 8, 15.2],
        ...[11.2, -0.8, -12, 9.6, 0.8, -13.6],
      ],
    ],
  };

  it.each(Object.entries(second))('%s: second gradients as PyTorch', (_, [loss, expected]) => {
    tidy(() => {
      const gradients = (...operands: [Tensor, Tensor, Tensor]): Tensor[] => {
        const first = grad(loss(...operands), operands, { createGraph: true });
        const squares = first.map((own) => own.square().sum());
        return grad(add(add(squares[0]!, squares[1]!), squares[2]!), operands);
      };
      const [eager, once] = [gradients, toStatic(gradients, { fullGraph: true })].map((run) =>
        run(...triplet()).flatMap((own) => [...own.dataSync()]),
      );
      expect(once).toEqual(eager);
      for (const [i, value] of expected.entries()) expect(eager![i]).toBeCloseTo(value, 4);
    });
  });

  it.each(['float16', 'bfloat16'] as const)('rounds once in %s', (dtype) => {
    tidy(() => {
      const halves = triplet().map((own) => own.detach().to(dtype)) as [Tensor, Tensor, Tensor];
      const wide = halves.map((own) => own.float()) as [Tensor, Tensor, Tensor];
      for (const reduction of ['none', 'sum', 'mean'] as const) {
        const options = { swap: true, reduction };
        const expected = tripletMarginWithDistanceLoss(...wide, options).to(dtype);
        const found = tripletMarginWithDistanceLoss(...halves, options);
        expect([found.dtype, found.tolist()]).toEqual([dtype, expected.tolist()]);
        expect(found.tolist()).toEqual(tripletMarginLoss(...halves, options).tolist());
        const own = { ...options, distanceFunction: manhattan };
        const apart = tripletMarginWithDistanceLoss(...halves, own);
        expect([apart.dtype, apart.shape]).toEqual([dtype, expected.shape]);
      }
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

  it('has the dtype of its distances, or without a distance of its operands, as in PyTorch', () => {
    const operands = (...dtypes: ('float32' | 'bfloat16' | 'int32')[]) =>
      dtypes.map((dtype) => tensor([[1, 2, 3]]).to(dtype)) as [Tensor, Tensor, Tensor];
    const all = (dtype: 'float32' | 'bfloat16') => operands(dtype, dtype, dtype);
    const narrowed = { distanceFunction: (x: Tensor, y: Tensor) => manhattan(x, y).to('bfloat16') };
    const widened = { distanceFunction: (x: Tensor, y: Tensor) => manhattan(x, y).float() };
    tidy(() => {
      const dtypes = [
        tripletMarginWithDistanceLoss(...all('float32'), narrowed),
        tripletMarginWithDistanceLoss(...all('bfloat16'), widened),
        tripletMarginWithDistanceLoss(...all('bfloat16')),
        tripletMarginWithDistanceLoss(...operands('bfloat16', 'int32', 'bfloat16')),
      ].map(({ dtype }) => dtype);
      expect(dtypes).toEqual(['bfloat16', 'float32', 'bfloat16', 'bfloat16']);
    });
  });
});
