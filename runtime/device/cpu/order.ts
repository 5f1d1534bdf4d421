import { alignedBytes } from '../../memory/allocator.ts';
import { sizeOf } from '../../spec/shape.ts';
import { Holder } from '../holder.ts';
import type { ScratchBytes } from '../kernel-op.ts';
import { addressOf, expectContiguous, type KernelFactory } from './core/kernel.ts';
import { alongDim } from './core/reduction.ts';
import * as scalar from './scalar/order.ts';
import { mostParts } from './threads/control.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { sortedAs } from './wasm/order/keys.ts';
import { longestSorted, orderKernels, rowBytes } from './wasm/order/row-sorter.ts';

/** Nanoseconds per element, and the minimum of elements per part. */
const perElement = 15;
const leastPart = 2048;

/** The memory for keys and positions of a row that doesn't fit a thread's scratch memory. */
export const sortScratch: ScratchBytes = ([x], { dim, count }) => {
  const size = x!.shape[dim as number]!;
  const isShort = !hasSimd || count === 0 || size <= longestSorted(x!.dtype);
  return isShort || sizeOf(x!.shape) === 0 ? 0 : alignedBytes(rowBytes(x!.dtype, size));
};

/** Returns the first `count` entries of each sorted row along `dim`, and their positions. */
export const sort: KernelFactory = (inputs, outputs, attrs) => {
  if (!hasSimd) return scalar.sort(inputs, outputs, attrs);
  const [x] = inputs;
  expectContiguous(x!);
  const { dtype, shape } = x!;
  const { size, stride, outer } = alongDim(shape, attrs.dim as number);
  const count = attrs.count as number;
  const rows = count === 0 ? 0 : outer * stride;
  const work = sizeOf(shape) * perElement;
  const height = Math.max(Math.ceil(leastPart / size), Math.ceil(rows / mostParts));
  const parts = new Parts(orderKernels()[sortedAs(dtype)], 10);
  const scratchBytes = sortScratch(inputs, attrs);
  return ([source], [values, indices]) => {
    const from = addressOf(source!, dtype);
    const to = [addressOf(values!, dtype), addressOf(indices!, 'int32')] as const;
    const scratch = scratchBytes > 0 ? new Holder(values!.holder!.device, scratchBytes) : null;
    const isShared = !scratch && pool.shares(work);
    const step = isShared ? height : rows;
    try {
      for (let row = 0; row < rows; row += step) {
        const range = [row, Math.min(step, rows - row)] as const;
        const flip = attrs.descending ? -1 : 0;
        const args = [from, ...to, ...range, size, count, stride, flip, scratch?.ptr ?? 0];
        parts.call(args, isShared);
      }
      parts.run();
    } finally {
      scratch?.release();
    }
  };
};
