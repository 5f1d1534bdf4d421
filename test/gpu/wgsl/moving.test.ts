/** Elements that are joined, placed, reversed and chosen: generated layouts against the CPU, eagerly and captured. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arange, cat, embedding, pad, stack, type Tensor, tidy } from '../../../runtime/index.ts';
import { gpuForTests, onDevice, skipGpu } from '../open-gpu.ts';
import { expectSameEverywhere, numbers, whole } from './checked.ts';

const settings = {
  numRuns: Number(process.env.GENERATED_RUNS ?? 1),
  seed: Number(process.env.GENERATED_SEED ?? 1),
};

type DTypeName = 'float32' | 'int32' | 'bool';

interface Drawn {
  readonly shape: readonly number[];
  readonly dim: number;
  readonly dtype: DTypeName;
  /** Its dimensions are in reverse order in memory. */
  readonly isTransposed: boolean;
}

const drawn: fc.Arbitrary<Drawn> = fc
  .record({
    shape: fc.array(fc.constantFrom(1, 2, 3, 5, 8), { minLength: 1, maxLength: 4 }),
    at: fc.nat({ max: 3 }),
    dtype: fc.constantFrom<DTypeName>('float32', 'float32', 'int32', 'bool'),
    isTransposed: fc.boolean(),
  })
  .map(({ at, ...own }) => ({ ...own, dim: at % own.shape.length }));

/** What runs by default; GENERATED_RUNS adds to it. */
const example: Drawn = { shape: [3, 5, 2], dim: 1, dtype: 'float32', isTransposed: true };

/** The same numbers on every device. */
function made({ shape, dtype, isTransposed }: Drawn, salt: number): Tensor {
  const own = isTransposed ? shape.toReversed() : [...shape];
  const x = whole(own, dtype === 'bool' ? 0 : -9, dtype === 'bool' ? 2 : 9, salt).to(dtype);
  return isTransposed ? x.permute(own.map((_, d) => own.length - 1 - d)) : x;
}

describe.skipIf(skipGpu)('gpu/wgsl/moving', () => {
  const gpu = gpuForTests();

  it('joined, stacked, reversed and rolled', async () => {
    const run = async (own: Drawn, count: number, shift: number) => {
      const operands = () => Array.from({ length: count }, (_, i) => made(own, i + 1));
      const { dim } = own;
      await expectSameEverywhere(gpu(), operands, (...given: Tensor[]) => [
        cat(given, dim),
        stack(given, dim),
        given[0]!.flip([...new Set([0, dim])]),
        given[0]!.roll([shift], [dim]),
      ]);
    };
    const property = fc.asyncProperty(
      drawn,
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: -4, max: 9 }),
      run,
    );
    await fc.assert(property, { ...settings, examples: [[example, 9, -2]] });
  });

  it('placed in something larger, and the gradients of parts', async () => {
    const run = async (own: Drawn, before: number, after: number) => {
      const { shape, dim } = own;
      const size = shape[dim]!;
      const start = Math.min(before, size - 1);
      await expectSameEverywhere(
        gpu(),
        (): [Tensor] => [made({ ...own, dtype: 'float32' }, 3)],
        (x) => {
          const leaf = x.detach().requiresGrad_();
          const parts = [
            leaf.narrow(dim, start, size - start),
            leaf.select(dim, start),
            leaf.slice(dim, 0, null, 2),
            leaf.unfold(dim, Math.min(size, 3), 2),
            pad(leaf, [before, after], 'constant', 7),
            leaf.unsqueeze(0).diagonal(0, 0, dim + 1),
          ];
          for (const part of parts) part.mul(part.detach().add(2)).sum().backward();
          const grown = x.clone();
          grown.narrow(dim, start, 1).copy_(grown.narrow(dim, 0, 1).mul(3));
          return [leaf.grad!, parts[4]!.detach(), x.diagEmbed(before), grown];
        },
      );
    };
    const property = fc.asyncProperty(
      drawn,
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 3 }),
      run,
    );
    await fc.assert(property, { ...settings, examples: [[example, 2, 1]] });
  });

  it('chosen by index tensors', async () => {
    const run = async (own: Drawn, chosen: readonly number[], salt: number) => {
      const { dim, shape } = own;
      const rank = shape.length;
      const next = Math.min(dim + 1, rank - 1);
      const operands = (): [Tensor, Tensor, Tensor, Tensor] => {
        const x = made(own, salt);
        const flat = whole(chosen, 0, shape[dim]!, 1);
        const each = whole(shape, 0, shape[dim]!, 2);
        const wrapped = whole(chosen, -shape[next]!, shape[next]!, 3);
        return [x, flat, each, wrapped];
      };
      await expectSameEverywhere(gpu(), operands, (x, flat, each, wrapped) => {
        const lead: [][] = Array.from({ length: dim }, () => []);
        const pair = next > dim ? [flat, wrapped] : [flat];
        return [
          x.gather(dim, each),
          x.gather(dim, each.narrow(dim, 0, 1)),
          x.indexSelect(dim, flat.reshape([-1])),
          x.index(...lead, ...pair),
          x.take(flat),
        ];
      });
    };
    const chosen = fc.array(fc.constantFrom(0, 1, 2, 5, 9), { minLength: 1, maxLength: 3 });
    await fc.assert(fc.asyncProperty(drawn, chosen, fc.nat({ max: 99 }), run), {
      ...settings,
      examples: [[example, [2, 3], 4]],
    });
  });

  it('ranges', async () => {
    const run = () => [arange(40), arange(2, -9, -3), arange(0, 12, 0.5, { dtype: 'int32' })];
    await expectSameEverywhere(gpu(), (): [] => [], run);
  });

  it('a dispatch each, and new sizes and places compile nothing', async () => {
    const steps: Readonly<Record<string, (n: number, x: Tensor, rows: Tensor) => Tensor>> = {
      cat: (_n, x) => cat([x, x.narrow(0, 0, 2)], 0),
      flip: (_n, x) => x.flip(1),
      roll: (n, x) => x.roll([n], [0]),
      pad: (n, x) => pad(x, [1, n, n, 2]),
      gather: (_n, x, rows) => x.gather(0, rows),
      embedding: (_n, x, rows) => embedding(x, rows),
    };
    for (const [name, step] of Object.entries(steps)) {
      const run = (n: number, m: number) =>
        onDevice(gpu(), async () => {
          const [x, rows] = [numbers([n, m], 1), whole([3, m], 0, n, 2)];
          await gpu().synchronize();
          const before = gpu().commandCounts.dispatches;
          const y = tidy(() => step(n, x, rows));
          expect(gpu().commandCounts.dispatches - before, name).toBeLessThanOrEqual(1);
          await y.data();
          expect(gpu().commandCounts.dispatches - before, name).toBe(1);
          for (const t of [x, rows, y]) t.dispose();
        });
      await run(4, 6);
      const { compiled } = gpu().kernelStats;
      await run(7, 5);
      await run(9, 11);
      expect(gpu().kernelStats.compiled - compiled, name).toBe(0);
    }
  });
});
