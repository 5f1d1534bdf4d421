import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as ours from '../../runtime/index.ts';
import { toStatic } from '../../src/index.ts';
import { allocated, spread, type Tensor, tensor } from './eager.ts';

/** One step from a matrix of 3×4 to another one. */
type Step = (y: Tensor, w: Tensor) => Tensor;

/** Pointwise ops, views there and back, reductions spread out again, ops along dimensions, writes in place. */
const steps: Readonly<Record<string, Step>> = {
  exp: (y) => y.mul(0.1).exp(),
  tanh: (y) => y.tanh(),
  'add the row': (y, w) => y.add(w),
  'times the row': (y, w) => y.mul(w),
  'less the mean': (y) => y.sub(y.mean(1, { keepDim: true })),
  softmax: (y) => y.softmax(1),
  'softmax down': (y) => y.softmax(0),
  layerNorm: (y, w) => ours.layerNorm(y, 4, w, w),
  'to the power of two': (y) => y.pow(2),
  cumsum: (y) => y.cumsum(0),
  'transposed twice': (y) => y.transpose(0, 1).exp().transpose(0, 1).clamp(-5, 5),
  'rows in reverse': (y) => y.flip(0),
  'halves exchanged': (y) => ours.cat([y.narrow(1, 2, 2), y.narrow(1, 0, 2)], 1),
  'as a vector': (y) => y.reshape([12]).mul(0.5).reshape([3, 4]),
  'as rows chosen': (y) => y.indexSelect(0, tensor(Int32Array.of(2, 0, 1))),
  product: (y, w) => y.matmul(ours.outer(w, w)).mul(0.1),
  sorted: (y) => y.sort(1)[0],
  'largest of each row': (y) => y.sub(y.max(1, true)[0]),
  where: (y, w) => ours.where(y.gt(0), y, y.mul(w)),
  'written in place': (y, w) => y.mul(1).mul_(w).add_(1),
  'a row written': (y, w) => {
    const copy = y.mul(1);
    copy.select(0, 1).copy_(w);
    return copy;
  },
  'a column scaled': (y) => {
    const copy = y.mul(1);
    const column = copy.select(1, 2);
    copy.select(1, 2).mul_(0.5);
    return copy.add(column.unsqueeze(1));
  },
};

const chains = fc.array(fc.constantFrom(...Object.keys(steps)), { minLength: 1, maxLength: 7 });

interface Result {
  readonly out: number[];
  readonly gradients: (number[] | null)[];
}

/** What `body` answers for the same leaves, and their gradients. */
function resultOf(body: Step): Result {
  return ours.tidy(() => {
    const x = tensor(spread([3, 4]), { shape: [3, 4], requiresGrad: true });
    const w = tensor(
      spread([4], 1).map((value) => value + 1.5),
      { requiresGrad: true },
    );
    const out = body(x, w);
    const weights = tensor(spread([3, 4], 2), { shape: [3, 4] });
    const gradients = out.requiresGrad
      ? ours.grad(out.mul(weights).sum(), [x, w], { allowUnused: true })
      : [];
    return {
      out: [...out.dataSync()],
      gradients: gradients.map((own) => own && [...own.dataSync()]),
    };
  });
}

const chained =
  (names: readonly string[]): Step =>
  (x, w) =>
    names.reduce((y, name) => steps[name]!(y, w), x);

describe('random chains of ops', () => {
  it('give back every byte, leave their inputs alone, and do the same twice', () => {
    const before = allocated();
    fc.assert(
      fc.property(chains, (names) => {
        const first = resultOf((x, w) => {
          const [givenX, givenW] = [[...x.dataSync()], [...w.dataSync()]];
          const out = chained(names)(x, w);
          expect([[...x.dataSync()], [...w.dataSync()]]).toEqual([givenX, givenW]);
          return out;
        });
        expect(resultOf(chained(names))).toEqual(first);
        expect(allocated()).toBe(before);
      }),
      { numRuns: 150 },
    );
  });

  it('have the gradients of their steps without writes in place', () => {
    const outOfPlace: Readonly<Record<string, Step>> = {
      ...steps,
      'written in place': (y, w) => y.mul(w).add(1),
      'a row written': (y, w) => ours.selectScatter(y, w, 0, 1),
      'a column scaled': (y) => {
        const column = y.select(1, 2).mul(0.5);
        return ours.selectScatter(y, column, 1, 2).add(column.unsqueeze(1));
      },
    };
    fc.assert(
      fc.property(chains, (names) => {
        const plain: Step = (x, w) => names.reduce((y, name) => outOfPlace[name]!(y, w), x);
        const [actual, expected] = [resultOf(chained(names)), resultOf(plain)];
        const flat = ({ out, gradients }: Result) => [...out, ...gradients.flatMap((g) => g ?? [])];
        const other = flat(expected);
        flat(actual).forEach((value, i) => {
          // Long chains overflow, to the same infinities and NaN.
          if (!Number.isFinite(other[i]!)) {
            expect(value).toBe(other[i]);
            return;
          }
          expect(Math.abs(value - other[i]!)).toBeLessThanOrEqual(
            1e-5 + 1e-5 * Math.abs(other[i]!),
          );
        });
      }),
      { numRuns: 100 },
    );
  });

  it('equal their captured forms bit for bit', () => {
    const before = allocated();
    const names = Object.keys(steps);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: names.length - 1 }), { maxLength: 5 }),
        (list) => {
          const own = list.map((i) => steps[names[i]!]!);
          const run: Step = (x, w) => {
            let y = x.mul(1);
            for (const step of own) y = step(y, w);
            return y;
          };
          const captured = toStatic(run);
          const expected = resultOf(run);
          expect(resultOf(captured)).toEqual(expected);
          expect(resultOf(captured)).toEqual(expected);
        },
      ),
      { numRuns: 5 },
    );
    expect(allocated()).toBe(before);
  });
});
