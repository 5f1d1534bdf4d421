/** Option kinds of convolutions over 1 or 2 dimensions. */

import type { OptionKinds } from '../../options/expect-options.ts';
import { arrayOf, count, either, type OptionKind, oneOf } from '../../options/option-kinds.ts';
import type { ConvOptions } from './conv.ts';
import type { ConvTransposeOptions } from './conv-transpose.ts';

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
