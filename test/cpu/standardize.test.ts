import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  standardize,
  standardizeGrad,
  standardizeWeightGrad,
} from '../../runtime/device/cpu/scalar/standardize.ts';
import { compute, error, noise, release, sample } from './samples.ts';

const plain = { standardize, standardizeGrad, standardizeWeightGrad } as const;

const size = (max: number) => fc.integer({ min: 1, max });

interface Grouping {
  readonly view: readonly number[];
  readonly over: readonly number[];
  readonly weightShape: readonly number[];
}

/** Layer norm (one weight per element), batch norm and group norm (one per run). */
const groupings = fc.oneof(
  fc.record({ rows: size(4), length: size(41) }).map(({ rows, length }) => ({
    view: [rows, length],
    over: [1],
    weightShape: [length],
  })),
  fc.record({ n: size(3), c: size(3), s: size(41) }).map(({ n, c, s }) => ({
    view: [n, c, s],
    over: [0, 2],
    weightShape: [c, 1],
  })),
  fc.record({ n: size(2), g: size(2), c: size(3), s: size(20) }).map(({ n, g, c, s }) => ({
    view: [n, g, c, s],
    over: [2, 3],
    weightShape: [g, c, 1],
  })),
  // Longer than what is summed in float32 at once.
  fc.constant({ view: [2, 9001], over: [1], weightShape: [9001] }),
);

it('normalization by vectors equals the plain loops', () => {
  fc.assert(
    fc.property(groupings, fc.boolean(), fc.boolean(), (grouping, affine, centered) => {
      const { view, over, weightShape }: Grouping = grouping;
      const attrs = { ...grouping, eps: 0.1, centered };
      const count = weightShape.reduce<number>((a, b) => a * b, 1);
      const groups = view.filter((_, d) => !over.includes(d)).reduce<number>((a, b) => a * b, 1);
      const make = (shape: readonly number[], salt: number) =>
        sample('float32', shape, noise(salt));
      const [x, dy] = [make(view, 1), make(view, 2)];
      const [weight, bias] = [make([count], 3), make([count], 4)];
      const float = (shape: readonly number[]) => ({ dtype: 'float32' as const, shape });
      const both = (
        name: keyof typeof plain,
        inputs: readonly (typeof x)[],
        outputs: readonly { dtype: 'float32'; shape: readonly number[] }[],
      ) => {
        const expected = compute(plain[name], inputs, outputs, attrs);
        compute(name, inputs, outputs, attrs).forEach((own, i) => {
          expect(error(own, expected[i]!), `${name}, output ${i}`).toBeLessThan(2e-5);
        });
        return expected;
      };
      const forward = affine ? [x, weight, bias] : [x];
      const [, values] = both('standardize', forward, [float(view), float([groups, 2])]);
      const stats = sample('float32', [groups, 2], (i) => values![i]!);
      both('standardizeGrad', [dy, x, stats, ...(affine ? [weight] : [])], [float(view)]);
      both('standardizeWeightGrad', [dy, x, stats, weight], [float([count])]);
      release(x, dy, weight, bias, stats);
    }),
    { numRuns: 80 },
  );
});
