import { sizeOf } from '../../spec/shape.ts';
import { addressOf, expectContiguous, type KernelFactory } from './core/kernel.ts';
import { alongDim } from './core/reduction.ts';
import * as scalar from './scalar/order.ts';
import { mostParts } from './threads/control.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { sortedAs } from './wasm/order/keys.ts';
import { longestSorted, orderKernels } from './wasm/order/row-sorter.ts';

/** Nanoseconds per element, and the minimum of elements per part. */
const perElement = 15;
const leastPart = 2048;

/** Returns the first `count` entries of each sorted row along `dim`, and their positions. */
export const sort: KernelFactory = (inputs, outputs, attrs) => {
  const [x] = inputs;
  const { size, stride, outer } = alongDim(x!.shape, attrs.dim as number);
  const { dtype } = x!;
  if (!hasSimd || size > longestSorted(dtype)) return scalar.sort(inputs, outputs, attrs);
  expectContiguous(x!);
  const count = attrs.count as number;
  const rows = count === 0 ? 0 : outer * stride;
  const work = sizeOf(x!.shape) * perElement;
  const height = Math.max(Math.ceil(leastPart / size), Math.ceil(rows / mostParts));
  const parts = new Parts(orderKernels()[sortedAs(dtype)], 9);
  return ([source], [values, indices]) => {
    const from = addressOf(source!, dtype);
    const to = [addressOf(values!, dtype), addressOf(indices!, 'int32')] as const;
    const isShared = pool.shares(work);
    const step = isShared ? height : rows;
    for (let row = 0; row < rows; row += step) {
      const own = Math.min(step, rows - row);
      const args = [from, ...to, row, own, size, count, stride, attrs.descending ? -1 : 0];
      parts.call(args, isShared);
    }
    parts.run();
  };
};
