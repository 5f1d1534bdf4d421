/** Sets of sizes at which a program is looked at. */

import type { Sizes } from './fit-sizes.ts';

/** Both included. */
export interface Bounds {
  min: number;
  readonly max: number;
}

/** Sizes that no constant of a program is likely to have, and no product of others. */
const unlikely = [1009, 503, 257, 131, 67, 37, 23, 13, 7];

/** A size within the bounds that is like few others; another one for each of several sizes. */
export function genericPoint({ min, max }: Bounds, index: number): number {
  const fitting = unlikely.filter((size) => size >= min && size <= max);
  return fitting[index % Math.max(fitting.length, 1)] ?? Math.min(min + index, max);
}

/** Where so few sets of sizes are possible, each of them is looked at. */
const fewPoints = 24;

const interesting = [2, 3, 5, 16, 101, 4098];

/** Sizes that a first look may be at: where the code asks for a multiple, another one does. */
export function genericPoints(bounds: readonly Bounds[]): Sizes[] {
  const base = bounds.map(genericPoint);
  return [0, 1, 2, 3, 4, 5, 6, 7, 15].map((shift) => {
    return base.map((size, i) => Math.min(size + shift, bounds[i]!.max));
  });
}

/** Besides a generic set: all where they are few; else each size alone through others, and some together. */
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
