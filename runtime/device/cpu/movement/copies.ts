import { identity } from '../../../ops/expr/expr-type.ts';
import { dtypes } from '../../../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import { addressOf, indexOf, type KernelFactory } from '../core/kernel.ts';
import { collapse, walk } from '../core/loops.ts';
import { pointwise } from '../pointwise/pointwise.ts';
import { Parts } from '../threads/parts.ts';
import { pool } from '../threads/pool.ts';
import { hasSimd } from '../wasm/assembler/module-builder.ts';
import { transposeKernels } from '../wasm/transpose-kernel.ts';
import { copyBytes, fillBytes } from './bytes.ts';

/** Kernels that only move elements: the identity on strided operands. */

export const copy: KernelFactory = ([x], [out]) => {
  if (isContiguousMeta(x!) && isContiguousMeta(out!)) return copyRun(x!);
  return transposingCopy(x!, out!) ?? pointwise(identity, [x!], out!, {});
};

/**
 * Copies a source whose adjacent dimension differs from the target's, such as after a permute, one plane of the
 * two dimensions at a time. Null for other copies.
 */
function transposingCopy(x: TensorMeta, out: TensorMeta): Launch | null {
  if (!hasSimd || dtypes[x.dtype].bytes !== 4) return null;
  const { shape, strides } = collapse(out.shape, [out.strides, x.strides]);
  const [toStrides, fromStrides] = strides as [number[], number[]];
  const columns = shape.length - 1;
  const rows = fromStrides.indexOf(1);
  if (columns < 1 || toStrides[columns] !== 1 || rows < 0 || rows === columns) return null;
  const { transpose } = transposeKernels();
  const outer = (list: readonly number[]) => list.filter((_, d) => d !== rows && d !== columns);
  const planes = { shape: outer(shape), strides: [outer(toStrides), outer(fromStrides)] };
  const [toStep, fromStep] = [toStrides[rows]! * 4, fromStrides[columns]! * 4];
  const [height, width] = [shape[rows]!, shape[columns]!];
  // A part of a plane covers whole cache lines of the source.
  const tall = Math.max(16, Math.ceil(transposePart / width / 16) * 16);
  const work = sizeOf(shape) * perTransposed;
  const isWorthIt = height * width >= 1024;
  const parts = new Parts(transpose, 6);
  return ([source], [target]) => {
    const at = [indexOf(target!, out.dtype), indexOf(source!, x.dtype)];
    if (!isWorthIt || source!.holder === target!.holder || !pool.shares(work)) {
      walk(planes, at, () => transpose(at[0]! * 4, toStep, at[1]! * 4, fromStep, height, width));
      return;
    }
    walk(planes, at, () => {
      for (let row = 0; row < height; row += tall) {
        let to = parts.nextAt();
        const { numbers } = pool;
        numbers[to++] = at[0]! * 4 + row * toStep;
        numbers[to++] = toStep;
        numbers[to++] = at[1]! * 4 + row * 4;
        numbers[to++] = fromStep;
        numbers[to++] = Math.min(tall, height - row);
        numbers[to++] = width;
      }
    });
    parts.run();
  };
}

/** Nanoseconds per element, and elements per part. */
const perTransposed = 0.6;
const transposePart = 32_768;

export const copyInto: KernelFactory = ([, source], [out]) => {
  const launch = pointwise(identity, [source!], out!, {});
  return ([, from], to) => launch([from!], to);
};

/** Zeros, then dy in the narrowed range. */
export const narrowGrad: KernelFactory = ([dy, x], [dx], { dim, start }) => {
  const strides = contiguousStrides(x!.shape);
  const launch = pointwise(identity, [dy!], { ...dx!, shape: dy!.shape, strides }, {});
  const skip = (start as number) * (strides[dim as number] ?? 0);
  const size = sizeOf(x!.shape) * dtypes[dx!.dtype].bytes;
  return ([grad], [target]) => {
    const { holder, offset } = target!;
    const from = addressOf(target!, dx!.dtype);
    fillBytes(from, size);
    launch([grad!], [{ holder, offset: offset + skip }]);
  };
};

function copyRun({ shape, dtype }: TensorMeta): Launch {
  const bytes = sizeOf(shape) * dtypes[dtype].bytes;
  return ([source], [target]) => {
    copyBytes(addressOf(target!, dtype), addressOf(source!, dtype), bytes);
  };
}
