import type { Shape } from '../../../spec/shape.ts';

/** A loop nest over elements; `strides[k][d]` is operand k's step in dimension d. */
export interface Loops {
  readonly shape: readonly number[];
  readonly strides: readonly (readonly number[])[];
}

/**
 * Returns loops over the same elements in the same order with as few dimensions as possible: drops sizes of 1 and
 * merges adjacent dimensions that every operand traverses without gaps.
 */
export function collapse(shape: Shape, strides: readonly (readonly number[])[]): Loops {
  const sizes: number[] = [];
  const merged: number[][] = [];
  for (let k = 0; k < strides.length; k++) merged.push([]);
  // Plain loops for speed: this runs for every eager op on strided operands.
  for (let d = 0; d < shape.length; d++) {
    const size = shape[d]!;
    if (size === 1) continue;
    const last = sizes.length - 1;
    let joins = last >= 0;
    for (let k = 0; joins && k < strides.length; k++) {
      joins = merged[k]![last] === strides[k]![d]! * size;
    }
    if (joins) sizes[last]! *= size;
    else sizes.push(size);
    const at = sizes.length - 1;
    for (let k = 0; k < strides.length; k++) merged[k]![at] = strides[k]![d]!;
  }
  return { shape: sizes, strides: merged };
}

/** Host kernels use these loops too. Exported modules contain their text, so they refer only to members of `this`. */
export const loopMethods = {
  /** Calls `body` for every element, with each operand's position in `at`, which has the start positions. */
  walk(
    shape: Shape,
    steps: readonly (readonly number[])[],
    at: number[],
    body: () => void,
    dim = 0,
  ): void {
    const size = shape[dim];
    if (size === undefined) {
      body();
      return;
    }
    for (let i = 0; i < size; i++) {
      this.walk(shape, steps, at, body, dim + 1);
      for (let k = 0; k < at.length; k++) at[k]! += steps[k]![dim]!;
    }
    for (let k = 0; k < at.length; k++) at[k]! -= size * steps[k]![dim]!;
  },
};

export const lineMethods = {
  /** Calls `body` for each line along a dimension, with its first element and its position within the stride. */
  eachLine(
    [size, step, outer]: readonly number[],
    body: (first: number, place: number) => void,
  ): void {
    for (let o = 0; o < outer!; o++) for (let i = 0; i < step!; i++) body(o * size! * step! + i, i);
  },
};

/** Calls `body` for every element, with each operand's position in `at`, which contains the start positions. */
export function walk({ shape, strides }: Loops, at: number[], body: () => void): void {
  loopMethods.walk(shape, strides, at, body);
}
