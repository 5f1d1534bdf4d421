/** Regions of which no two elements share memory, compared with the addresses of all elements. */

import { describe, expect, it } from 'vitest';
import { overlappingDim } from '../../runtime/autograd/view-family.ts';
import { contiguousStrides } from '../../runtime/spec/shape.ts';

const layouts = [1, 2, 3].flatMap((rank) => {
  const sizes = rank === 3 ? [1, 2, 3] : [1, 2, 3, 4];
  const tuples = (from: readonly number[], length: number): number[][] =>
    length === 0
      ? [[]]
      : tuples(from, length - 1).flatMap((head) => from.map((each) => [...head, each]));
  return tuples(sizes, rank).flatMap((shape) =>
    tuples([1, 2, 3, 6], rank).map((strides) => ({ shape, strides })),
  );
});

/** The addresses of all elements. */
function addresses(shape: readonly number[], strides: readonly number[]): number[] {
  return shape.reduce(
    (found, size, d) =>
      found.flatMap((at) => Array.from({ length: size }, (_, i) => at + i * strides[d]!)),
    [0],
  );
}

describe('overlapping elements', () => {
  it('are found in every layout', () => {
    for (const { shape, strides } of layouts) {
      const all = addresses(shape, strides);
      const overlap = new Set(all).size < all.length;
      const dim = overlappingDim(shape, strides);
      const layout = `${shape} strides ${strides}`;
      if (overlap) expect(dim, layout).toBeDefined();
      if (dim === undefined) continue;
      // The dimension of the smallest stride; of two with equal strides, the later one.
      const long = [...shape.keys()].filter((d) => shape[d]! > 1);
      const smallest = Math.min(...long.map((d) => strides[d]!));
      expect(dim, layout).toBe(long.findLast((d) => strides[d] === smallest));
    }
  });

  it('are not found in dense layouts, whatever the strides of dimensions of size 1', () => {
    for (const shape of [[4], [2, 3], [1, 3], [3, 1], [2, 1, 3], [2, 3, 4], [1, 1, 2]]) {
      const strides = contiguousStrides(shape);
      for (const one of [0, 1, 100]) {
        const given = strides.map((stride, d) => (shape[d] === 1 ? one : stride));
        for (const order of [shape.map((_, d) => d), shape.map((_, d) => shape.length - 1 - d)]) {
          const permuted = order.map((d) => shape[d]!);
          expect(
            overlappingDim(
              permuted,
              order.map((d) => given[d]!),
            ),
            `${permuted}`,
          ).toBeUndefined();
        }
      }
    }
  });
});
