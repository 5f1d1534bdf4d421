/** Options of convolutions over 1, 2 or 3 dimensions. */

import type { OptionKinds } from '../../options/expect-options.ts';
import { arrayOf, count, either, type OptionKind, oneOf } from '../../options/option-kinds.ts';

export type Pair = readonly [number, number];

export interface ConvOptions<Size = number | Pair> {
  /** Steps of the windows, 1 by default. */
  readonly stride?: Size;
  /** Zero padding of the input; 'same' keeps the size (stride 1), 'valid' means none. */
  readonly padding?: Size | 'same' | 'valid';
  /** Distance of the elements of a window, 1 by default. */
  readonly dilation?: Size;
  /** Blocks of channels that are convolved apart, 1 by default. */
  readonly groups?: number;
}

export interface ConvTransposeOptions<Size = number | Pair> {
  /** Steps of the windows in the output, 1 by default. */
  readonly stride?: Size;
  /** Elements cut from each side of the output, 0 by default. */
  readonly padding?: Size;
  /** Entries added at the end: a stride makes the result's size ambiguous. */
  readonly outputPadding?: Size;
  /** Blocks of channels that are convolved apart, 1 by default. */
  readonly groups?: number;
  /** Distance of the elements of a window, 1 by default. */
  readonly dilation?: Size;
}

/** An integer for all dimensions, or one per dimension. */
const sizes = (least: number, dims: number): OptionKind =>
  either(count(least), arrayOf(count(least), dims));

type Sizes = number | readonly number[];

export const convKinds = (dims: number): OptionKinds<ConvOptions<Sizes>> => ({
  stride: sizes(1, dims),
  padding: either(oneOf('same', 'valid'), sizes(0, dims)),
  dilation: sizes(1, dims),
  groups: count(1),
});

export const convTransposeKinds = (dims: number): OptionKinds<ConvTransposeOptions<Sizes>> => ({
  stride: sizes(1, dims),
  padding: sizes(0, dims),
  outputPadding: sizes(0, dims),
  groups: count(1),
  dilation: sizes(1, dims),
});
