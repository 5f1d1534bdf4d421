/** The partial inverse of max pooling: values at the positions of the maxima, zeros elsewhere. */

import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { scatter } from '../ops/indexing/gather.ts';
import { reshape } from '../ops/movement/movement.ts';
import { fullLike } from '../ops/movement/ranges.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { arrayOf, count, orNull, perDimension } from '../options/option-kinds.ts';
import { sameShape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { calledAs } from './called-as.ts';

export interface MaxUnpoolOptions<Size> {
  /** Defaults to the window size. */
  readonly stride?: Size | null;
  readonly padding?: Size;
  /** The result's last dimensions, or all of them: windows and strides don't determine them uniquely. */
  readonly outputSize?: readonly number[] | null;
}

const kernelKinds = { kernel: perDimension(count(1)) };

const unpoolKinds: OptionKinds<MaxUnpoolOptions<unknown>> = {
  stride: orNull(perDimension(count(1))),
  padding: perDimension(count(0)),
  outputSize: orNull(arrayOf(count(0))),
};

type Sizes = number | readonly number[];

function maxUnpool<Size extends Sizes>(name: string, dims: 1 | 2 | 3) {
  const each = (value: Sizes): readonly number[] => {
    const list = [value].flat();
    return list.length === 1 ? Array<number>(dims).fill(list[0]!) : list;
  };
  return (
    x: Tensor,
    indices: Tensor,
    kernel: Size,
    options: MaxUnpoolOptions<Size> = {},
  ): Tensor => {
    expectTensors(name, x, indices);
    expectArguments(name, { kernel }, kernelKinds);
    expectOptions(name, options, unpoolKinds);
    const [window, step] = [each(kernel), each(options.stride ?? kernel)];
    const border = each(options.padding ?? 0);
    const pooled = x.shape.slice(-dims);
    const usual = pooled.map((item, i) => (item - 1) * step[i]! - 2 * border[i]! + window[i]!);
    const size = options.outputSize ? options.outputSize.slice(-dims) : usual;
    // Whether pooling could have reduced the size to that of `x`.
    const reachable = size.every(
      (item, i) => item > usual[i]! - step[i]! && item < usual[i]! + step[i]!,
    );
    const ranked = x.rank === dims + 1 || x.rank === dims + 2;
    const counts = [window, step, border, size].every((list) => list.length === dims);
    if (!ranked || !counts || !reachable || !sameShape(x.shape, indices.shape)) {
      throw new ShapeError({
        what: `${name}: not what a pooling returns`,
        given: `${formatSpec(x)} and ${formatSpec(indices)}, size ${size.join('×')}`,
        expected: `values and positions of one shape, with ${dims} pooled dimension(s), and a size within a stride of ${usual.join('×')}`,
        remedy: 'pass both results of a pooling with returnIndices, with its options',
      });
    }
    const lead = x.shape.slice(0, -dims);
    const planes = lead.reduce((a, b) => a * b, 1);
    const entries = size.reduce((a, b) => a * b, 1);
    return calledAs(name, () => {
      const zeros = fullLike(x, 0, { shape: [planes, entries] });
      const flat = (tensor: Tensor) => reshape(tensor, [planes, pooled.reduce((a, b) => a * b, 1)]);
      return reshape(scatter(zeros, 1, flat(indices), flat(x)), [...lead, ...size]);
    });
  };
}

/** Partial inverse of maxPool1d on [n, c, length] or [c, length], given the positions it returned. */
export const maxUnpool1d = maxUnpool<number | readonly [number]>('maxUnpool1d', 1);
/** Partial inverse of maxPool2d on [n, c, h, w] or [c, h, w], given the positions it returned. */
export const maxUnpool2d = maxUnpool<number | readonly [number, number]>('maxUnpool2d', 2);
/** Partial inverse of maxPool3d on [n, c, d, h, w] or [c, d, h, w], given the positions it returned. */
export const maxUnpool3d = maxUnpool<number | readonly [number, number, number]>('maxUnpool3d', 3);
