import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  eye,
  nn,
  noGrad,
  optim,
  qr,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { allocated } from '../ops/eager.ts';

const { orthogonal } = nn.utils;

interface Recorded {
  readonly values: readonly number[];
  readonly shape: readonly number[];
}

/** Weights of PyTorch's `orthogonal` in float64, and gradients of their sum, weighted by 1, 2, 3 …. */
const recorded: readonly {
  readonly map: 'matrixExp' | 'cayley';
  readonly base: Recorded;
  readonly original: Recorded;
  readonly weight: Recorded;
  readonly grad: Recorded;
}[] = JSON.parse(readFileSync(new URL('data/orthogonal.json', import.meta.url), 'utf8'));

const made = ({ values, shape }: Recorded): Tensor =>
  tensor([...values], { shape: [...shape], dtype: 'float64' });

function expectLike(found: Tensor, { values, shape }: Recorded): void {
  expect(found.shape).toEqual(shape);
  [...found.contiguous().dataSync()].forEach((value, i) => {
    expect(value).toBeCloseTo(values[i]!, 8);
  });
}

/** How far the columns are from being orthonormal, or the rows if there are fewer. */
function defect(weight: Tensor): number {
  const [rows, columns] = weight.shape as [number, number];
  const products = rows < columns ? weight.matmul(weight.t()) : weight.t().matmul(weight);
  return products
    .sub(eye(Math.min(rows, columns)))
    .abs()
    .max()
    .itemSync();
}

describe('nn.utils.orthogonal', () => {
  it.each(recorded)(
    "computes PyTorch's weight by $map",
    ({ map, base, original, weight, grad }) => {
      const before = allocated();
      tidy(() => {
        const [out, input] = weight.shape as [number, number];
        using linear = new nn.Linear(input, out, { bias: false }).to('float64');
        const replaced = linear.weight;
        const layer = orthogonal(linear, 'weight', { orthogonalMap: map });
        replaced.dispose();
        layer.loadStateDict({
          'parametrizations.weight.original': made(original),
          'parametrizations.weight.0.base': made(base),
        });
        expectLike(layer.weight, weight);
        const factors = tensor(
          weight.values.map((_, i) => i + 1),
          { shape: [out, input], dtype: 'float64' },
        );
        layer.weight.mul(factors).sum().backward();
        const [own] = layer.parameters();
        expectLike(own!.grad!, grad);
      });
      expect(allocated()).toBe(before);
    },
  );

  it.each([
    [4, 4, {}],
    [2, 5, { orthogonalMap: 'cayley' }],
    [5, 2, { useTrivialization: false }],
  ] as const)(
    '%i inputs, %i outputs: %j stays orthogonal in captured steps',
    (input, out, options) => {
      tidy(() => {
        const trained = (capture: boolean) => {
          seed(6);
          const layer = orthogonal(new nn.Linear(input, out), 'weight', options);
          const optimizer = new optim.SGD(layer.parameters(), { lr: 0.5 });
          const step = (x: Tensor) => {
            optimizer.zeroGrad();
            layer.forward(x).square().mean().backward();
            optimizer.step();
          };
          const own = capture ? toStatic(step, { fullGraph: true }) : step;
          for (let i = 0; i < 3; i++) own(randn([4, input]));
          expect(defect(layer.weight)).toBeLessThan(1e-5);
          return layer.weight.tolist();
        };
        expect(trained(true)).toEqual(trained(false));
      });
    },
  );

  it('leaves an orthogonal weight as it is', () => {
    tidy(() => {
      const layer = new nn.Linear(4, 4);
      const weight = qr(randn([4, 4]))[0];
      noGrad(() => layer.weight.copy_(weight));
      orthogonal(layer);
      expect(layer.weight.sub(weight).abs().max().itemSync()).toBeLessThan(1e-6);
      expect(() => orthogonal(layer, 'bias')).toThrow('orthogonal: not matrices');
    });
  });

  it('makes an orthogonal weight of dependent columns, and takes no weight that is computed', () => {
    tidy(() => {
      const layer = new nn.Linear(4, 4);
      noGrad(() => layer.weight.fill_(0));
      orthogonal(layer);
      expect(defect(layer.weight)).toBeLessThan(1e-5);
      expect(() => orthogonal(layer)).toThrow('orthogonal: a weight that is computed already');
    });
  });
});
