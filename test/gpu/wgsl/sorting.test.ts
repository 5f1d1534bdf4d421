/** Sorts, and sums of elements that share a place: the CPU's bits for generated sizes, eagerly and captured. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  deviceGuard,
  embedding,
  oneHot,
  type Tensor,
  tensor,
  zeros,
} from '../../../runtime/index.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { drawn, expectSameEverywhere, numbers, whole } from './checked.ts';

const settings = {
  numRuns: Number(process.env.GENERATED_RUNS ?? 1),
  seed: Number(process.env.GENERATED_SEED ?? 1),
};

/** Around the sizes at which a line needs another block or another merge; products stay small. */
const lengths = fc.constantFrom(1, 16, 17, 129, 512, 513, 1500, 2200);

/** [outer, length, inner], and the middle dimension's number. */
const lines = fc
  .record({
    length: lengths,
    outer: fc.constantFrom(1, 2, 3),
    inner: fc.constantFrom(1, 2, 5),
    dim: fc.constantFrom(0, 1, 2),
    salt: fc.nat({ max: 99 }),
  })
  .map(({ length, outer, inner, ...own }) => {
    if (own.dim === 0) return { ...own, shape: [length, inner] };
    if (own.dim === 1) return { ...own, shape: [outer, length, inner] };
    return { ...own, shape: [outer, inner, length] };
  });

/** What runs by default; GENERATED_RUNS adds to it. */
const example = { shape: [2, 600, 3], dim: 1, salt: 5 };

/** With many equal numbers, zeros of both signs, infinities and NaN. */
function special(shape: readonly number[], salt: number): Tensor {
  const random = drawn(salt);
  const values = Float32Array.from({ length: sizeOf(shape) }, () => {
    const value = Math.floor(random.next().value * 22) - 9;
    return value > 8 ? [Infinity, -Infinity, NaN, -0][value - 9]! : value / 4;
  });
  return tensor(values, { shape });
}

describe.skipIf(skipGpu)('gpu/wgsl/sorting', () => {
  const gpu = gpuForTests();

  it('sort and topk: values, places and gradients', async () => {
    const run = async (
      { shape, dim, salt }: { shape: readonly number[]; dim: number; salt: number },
      descending: boolean,
    ) => {
      const operands = (): [Tensor, Tensor] => {
        return [special(shape, salt), whole(shape, -900, 900, salt)];
      };
      await expectSameEverywhere(gpu(), operands, (x, counts) => {
        const leaf = counts.to('float32').requiresGrad_();
        const [sorted] = leaf.sort(dim, descending);
        sorted.mul(3).sum().backward();
        const count = Math.min(7, shape[dim]!);
        return [
          ...x.sort(dim, descending),
          ...x.topk(count, dim, descending),
          ...counts.sort(dim, descending),
          ...counts.gt(0).sort(dim, descending),
          leaf.grad!,
        ];
      });
    };
    await fc.assert(fc.asyncProperty(lines, fc.boolean(), run), {
      ...settings,
      examples: [[example, true]],
    });
  });

  it('elements written and added where an index says', async () => {
    const run = async (
      { shape, dim, salt }: { shape: readonly number[]; dim: number; salt: number },
      places: number,
    ) => {
      const target = shape.map((size, d) => (d === dim ? places : size + (salt % 2)));
      const operands = (): [Tensor, Tensor, Tensor] => {
        const index = whole(shape.toReversed(), 0, places, salt);
        const order = shape.map((_, d) => shape.length - 1 - d);
        return [numbers(target, salt), index.permute(order), numbers(shape, salt + 1)];
      };
      await expectSameEverywhere(gpu(), operands, (x, index, source) => {
        const leaf = x.detach().requiresGrad_();
        leaf.gather(dim, index).mul(source).sum().backward();
        return [x.scatter(dim, index, source), x.scatterAdd(dim, index, source), leaf.grad!];
      });
    };
    await fc.assert(fc.asyncProperty(lines, fc.constantFrom(1, 3, 40), run), {
      ...settings,
      examples: [[example, 40]],
    });
  });

  it('rows written and added where an index says', async () => {
    const run = async (chosen: number, rows: number, inner: number, outer: number) => {
      const operands = (): [Tensor, Tensor, Tensor, Tensor] => {
        return [
          numbers([outer, rows, inner], 1),
          whole([chosen], 0, rows, 2),
          whole([chosen], -rows, rows, 3),
          numbers([outer, chosen, inner], 4),
        ];
      };
      await expectSameEverywhere(gpu(), operands, (x, index, wrapped, source) => {
        const leaf = x.detach().requiresGrad_();
        leaf.index([], wrapped).mul(source).sum().backward();
        const table = x.select(0, 0).detach().requiresGrad_();
        embedding(table, index).mul(source.select(0, 0)).sum().backward();
        return [
          x.indexCopy(1, index, source),
          x.indexAdd(1, index, source),
          leaf.grad!,
          table.grad!,
        ];
      });
    };
    const property = fc.asyncProperty(
      lengths,
      fc.constantFrom(1, 2, 65),
      fc.constantFrom(1, 3, 16),
      fc.constantFrom(1, 2),
      run,
    );
    await fc.assert(property, { ...settings, examples: [[600, 65, 3, 2]] });
  });

  it('an index out of range writes nothing, in long lines, too', async () => {
    const indices = Int32Array.from({ length: 40 }, (_, i) => [-1, 0, 2, 3][i % 4]!);
    const found = deviceGuard(gpu(), () => {
      const [index, ones] = [tensor(indices), zeros([40]).add(1)];
      return [
        zeros([3]).scatterAdd(0, index, ones),
        zeros([3]).indexAdd(0, index, ones),
        zeros([3]).scatter(0, index, ones),
      ];
    });
    const data = await Promise.all(found.map((t) => t.data()));
    expect(data.map((each) => [...each])).toEqual([
      [10, 0, 10],
      [10, 0, 10],
      [1, 0, 1],
    ]);
  });

  it('one dispatch for short lines, two for a block, one more per merge; a size of the class compiles nothing', async () => {
    const count = async (run: () => Tensor | readonly Tensor[]) => {
      await gpu().synchronize();
      const before = gpu().commandCounts.dispatches;
      const results = [run()].flat() as Tensor[];
      await Promise.all(results.map((t) => t.data()));
      for (const t of results) t.dispose();
      return gpu().commandCounts.dispatches - before;
    };
    const onGpu = <T>(make: () => T): T => deviceGuard(gpu(), make);
    const added = (chosen: number, rows: number) => {
      const [x, index, source] = onGpu(
        () => [zeros([rows, 4]), whole([chosen], 0, rows, 1), numbers([chosen, 4], 2)] as const,
      );
      return count(() => x.indexAdd(0, index, source));
    };
    const sorted = (size: number, descending: boolean) => {
      const x = onGpu(() => numbers([2, size], 3));
      return count(() => x.sort(1, descending));
    };
    expect([await added(16, 5), await added(500, 5), await added(2000, 5)]).toEqual([1, 2, 4]);
    expect([await sorted(500, false), await sorted(2000, false)]).toEqual([1, 3]);
    const hot = onGpu(() => whole([50], 0, 9, 4));
    expect(await count(() => oneHot(hot, 9))).toBe(3);
    const { compiled } = gpu().kernelStats;
    expect([await added(9, 7), await added(80, 70), await added(1500, 9)]).toEqual([1, 2, 4]);
    expect([await sorted(60, true), await sorted(1500, true)]).toEqual([1, 3]);
    expect(gpu().kernelStats.compiled - compiled).toBe(0);
  });
});
