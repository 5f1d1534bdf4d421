/** Sets of sizes at which a program is sampled. */

import type { Sizes } from './fit-sizes.ts';

/** Bounds, both inclusive. */
export interface Bounds {
  min: number;
  readonly max: number;
}

/** Sizes that are unlikely to equal a program's constants, or products of other sizes. */
const unlikely = [1009, 503, 257, 131, 67, 37, 23, 13, 7];

/** Returns a size within the bounds that is unlike most others, and different for each index. */
export function genericPoint({ min, max }: Bounds, index: number): number {
  const fitting = unlikely.filter((size) => size >= min && size <= max);
  return fitting[index % Math.max(fitting.length, 1)] ?? Math.min(min + index, max);
}

/** Up to this many possible sets of sizes, all are sampled. */
const fewPoints = 24;

const interesting = [2, 3, 5, 16, 101, 4098];

/** Candidates for the first sample: if the code requires a multiple, another one may fit. */
export function genericPoints(bounds: readonly Bounds[]): Sizes[] {
  const base = bounds.map(genericPoint);
  return [0, 1, 2, 3, 4, 5, 6, 7, 15].map((shift) => {
    return base.map((size, i) => Math.min(size + shift, bounds[i]!.max));
  });
}

/**
 * Returns samples besides a generic one: all if there are few, otherwise each size varied individually, and some
 * together.
 */
export function samplePoints(bounds: readonly Bounds[], base: Sizes): Sizes[] {
  const count = bounds.reduce((product, { min, max }) => product * (max - min + 1), 1);
  const points = count <= fewPoints ? combinations(bounds.map(allOf)) : someOf(bounds, base);
  const different = new Map(points.map((point) => [point.join(), point]));
  different.delete(base.join());
  return [...different.values()];
}

function allOf({ min, max }: Bounds): number[] {
  return Array.from({ length: max - min + 1 }, (_, i) => min + i);
}

function someOf(bounds: readonly Bounds[], base: Sizes): Sizes[] {
  const alone = bounds.flatMap(({ min, max }, i) => {
    const sizes = [min, min + 1, ...interesting, max].filter(
      (size) => size >= min && size <= max && Number.isFinite(size),
    );
    return sizes.map((size) => base.map((other, k) => (k === i ? size : other)));
  });
  const together = [0, 1, 2, 3].map((shift) =>
    bounds.map((each, i) => genericPoint(each, i + shift + bounds.length)),
  );
  return bounds.length > 1 ? [...alone, ...together] : alone;
}

/** Every combination of one element of each list. */
export function combinations<T>(lists: readonly (readonly T[])[]): T[][] {
  return lists.reduce<T[][]>(
    (found, list) => found.flatMap((each) => list.map((item) => [...each, item])),
    [[]],
  );
}
