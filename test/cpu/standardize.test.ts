import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  standardize,
  standardizeByStats,
  standardizeGrad,
  standardizeWeightGrad,
} from '../../runtime/device/cpu/scalar/standardize.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import { compute, error, noise, release, type Sample, sample } from './samples.ts';

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

it.each(['float32', 'float64'] as const)('known statistics give the same bits, in %s', (dtype) => {
  const kernels = {
    vectors: ['standardize', 'standardizeByStats'],
    plain: [standardize, standardizeByStats],
  } as const;
  fc.assert(
    fc.property(groupings, fc.boolean(), fc.boolean(), (grouping, affine, centered) => {
      const { view, over, weightShape }: Grouping = grouping;
      const attrs = { ...grouping, eps: 0.1, centered };
      const sizeOf = (dims: readonly number[]) => dims.reduce((a, b) => a * b, 1);
      const groups = sizeOf(view.filter((_, d) => !over.includes(d)));
      const make = (shape: readonly number[], salt: number) => sample(dtype, shape, noise(salt));
      const partOf = ({ values }: Sample, row: number, step: number) =>
        sample(dtype, [step], (i) => values[row * step + i]!);
      const x = make(view, 1);
      const weights = affine
        ? [make([sizeOf(weightShape)], 3), make([sizeOf(weightShape)], 4)]
        : [];
      for (const [whole, byStats] of Object.values(kernels)) {
        const specs = [view, [groups, 2]].map((shape) => ({ dtype, shape }));
        const [expected, found] = compute(whole, [x, ...weights], specs, attrs);
        const stats = sample(dtype, [groups, 2], (i) => found![i]!);
        const given = [x, stats, ...weights];
        expect(compute(byStats, given, [specs[0]!], attrs)).toEqual([expected]);
        // The record says how it falls into rows: each of them has the same bits by itself.
        const op = opNamed(affine ? 'standardizeAffineByStats' : 'standardizeByStats');
        for (const { count, inputs, attrs: attrsOf } of op.rows!(
          given.map((one) => one.meta),
          [x.meta],
          attrs,
        )) {
          for (let row = 0; row < count; row++) {
            const parts = given.map((one, i) =>
              inputs[i] ? partOf(one, row, inputs[i].step) : one,
            );
            const length = sizeOf(view) / count;
            const [own] = compute(byStats, parts, [{ dtype, shape: [length] }], attrsOf(1));
            release(...parts.filter((one) => !given.includes(one)));
            expect(own).toEqual(expected!.slice(row * length, (row + 1) * length));
          }
        }
        release(stats);
      }
      release(x, ...weights);
    }),
    { numRuns: 40 },
  );
});
