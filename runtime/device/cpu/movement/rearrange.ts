import { E } from '../../../ops/expr/expr.ts';
import { identity } from '../../../ops/expr/expr-type.ts';
import { remainder } from '../../../ops/numbers/number-arithmetic.ts';
import { dtypes } from '../../../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { Launch, Operand } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { addressOf, type KernelFactory } from '../core/kernel.ts';
import { pointwise } from '../pointwise/pointwise.ts';
import { fill } from '../scalar/fill.ts';
import { fillBytes } from './bytes.ts';
import { copy } from './copies.ts';

/** Kernels that write strided regions of their result. */

const nothing: Launch = () => {};

/** Copies `x` to a region of a tensor; the launch's target is the region's first element. */
function copyPart(x: TensorMeta, out: TensorMeta, strides: readonly number[]): Launch {
  return sizeOf(x.shape) === 0 ? nothing : copy([x], [{ ...out, shape: x.shape, strides }], {});
}

const shifted = ({ holder, offset }: Operand, by: number): Operand => ({
  holder,
  offset: offset + by,
});

export const cat: KernelFactory = (inputs, [out], { dim }) => {
  const strides = contiguousStrides(out!.shape);
  let start = 0;
  const parts = inputs.map((x) => {
    const skip = start * strides[dim as number]!;
    start += x.shape[dim as number]!;
    return { skip, launch: copyPart(x, out!, strides) };
  });
  return (sources, [target]) => {
    for (let i = 0; i < parts.length; i++) {
      parts[i]!.launch([sources[i]!], [shifted(target!, parts[i]!.skip)]);
    }
  };
};

/** Reads backwards: negative strides from the last entry on. */
export const flip: KernelFactory = ([x], [out], { dims }) => {
  if (sizeOf(x!.shape) === 0) return nothing;
  let last = 0;
  const strides = x!.strides.map((stride, d) => {
    if (!(dims as readonly number[]).includes(d) || x!.shape[d] === 1) return stride;
    last += (x!.shape[d]! - 1) * stride;
    return -stride;
  });
  const launch = pointwise(identity, [{ ...x!, strides }], out!, {});
  return ([source], targets) => launch([shifted(source!, last)], targets);
};

/** Swaps two parts: the last entries of the dimension, and all before them. */
export const roll: KernelFactory = ([x], [out], { dim, shift }) => {
  const axis = dim as number;
  const size = x!.shape[axis]!;
  if (sizeOf(x!.shape) === 0) return nothing;
  const last = remainder(shift as number, size);
  const strides = contiguousStrides(out!.shape);
  const part = (length: number): Launch => {
    const shape = x!.shape.map((each, d) => (d === axis ? length : each));
    return copyPart({ ...x!, shape }, out!, strides);
  };
  const [moveLast, moveFirst] = [part(last), part(size - last)];
  const [from, to] = [(size - last) * x!.strides[axis]!, last * strides[axis]!];
  return ([source], [target]) => {
    moveLast([shifted(source!, from)], [target!]);
    moveFirst([source!], [shifted(target!, to)]);
  };
};

export const place: KernelFactory = ([x], [out], { strides, offset, value }) => {
  const filling = fill([], [out!], { value: value! });
  const copying = copyPart(x!, out!, strides as readonly number[]);
  return (sources, [target]) => {
    filling([], [target!]);
    copying(sources, [shifted(target!, offset as number)]);
  };
};

/** Copies the tensor, then overwrites the region. */
export const placeInto: KernelFactory = ([x, source], [out], { strides, offset }) => {
  const copying = copyPart(x!, out!, contiguousStrides(x!.shape));
  const writing = copyPart(source!, out!, strides as readonly number[]);
  return ([from, part], [target]) => {
    copying([from!], [target!]);
    writing([part!], [shifted(target!, offset as number)]);
  };
};

const sum = E.add(E.input(0), E.input(1));

/** Windows overlap, but entries at the same position in their windows don't, so they are added together. */
export const unfoldGrad: KernelFactory = ([dy, x], [dx], { dim, step, dilation }) => {
  const at = dim as number;
  const size = dy!.shape.at(-1)!;
  const along = contiguousStrides(x!.shape);
  const shape = dy!.shape.slice(0, -1);
  const entries = {
    ...dx!,
    shape,
    strides: along.map((stride, d) => (d === at ? stride * (step as number) : stride)),
  };
  const gradients = { ...dy!, shape, strides: dy!.strides.slice(0, -1) };
  const launch =
    sizeOf(dy!.shape) === 0 ? nothing : pointwise(sum, [entries, gradients], entries, {});
  const bytes = sizeOf(x!.shape) * dtypes[dx!.dtype].bytes;
  return ([grad], [target]) => {
    const from = addressOf(target!, dx!.dtype);
    fillBytes(from, bytes);
    for (let k = 0; k < size; k++) {
      const part = shifted(target!, k * (dilation as number) * along[at]!);
      launch([part, shifted(grad!, k * dy!.strides.at(-1)!)], [part]);
    }
  };
};
