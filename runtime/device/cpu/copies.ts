import { dtypes } from '../../tensor/dtype.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor/meta.ts';
import { contiguousStrides, sizeOf } from '../../tensor/shape.ts';
import type { Launch } from '../device.ts';
import { identity } from './expr-type.ts';
import { heap } from './heap.ts';
import { addressOf, type KernelFactory } from './kernel.ts';
import { pointwise } from './pointwise.ts';

/** Kernels that only move elements: the pointwise identity over strides. */

export const copy: KernelFactory = ([x], [out]) => {
  if (isContiguousMeta(x!) && isContiguousMeta(out!)) return copyBytes(x!);
  return pointwise(identity, [x!], out!, {});
};

export const copyInto: KernelFactory = ([, source], [out]) => {
  const launch = pointwise(identity, [source!], out!, {});
  return ([, from], to) => launch([from!], to);
};

/** Zeros, then dy over the part that was narrowed. */
export const narrowGrad: KernelFactory = ([dy, x], [dx], { dim, start }) => {
  const strides = contiguousStrides(x!.shape);
  const launch = pointwise(identity, [dy!], { ...dx!, shape: dy!.shape, strides }, {});
  const skip = (start as number) * (strides[dim as number] ?? 0);
  const size = sizeOf(x!.shape) * dtypes[dx!.dtype].bytes;
  return ([grad], [target]) => {
    const { holder, offset } = target!;
    const from = addressOf(target!, dx!.dtype);
    heap.u8.fill(0, from, from + size);
    launch([grad!], [{ holder, offset: offset + skip }]);
  };
};

function copyBytes({ shape, dtype }: TensorMeta): Launch {
  const bytes = sizeOf(shape) * dtypes[dtype].bytes;
  return ([source], [target]) => {
    const from = addressOf(source!, dtype);
    heap.u8.copyWithin(addressOf(target!, dtype), from, from + bytes);
  };
}
