import { math } from '../../../numerics/math.ts';
import type { TypedArray } from '../../../spec/dtype.ts';
import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { roundingOf } from './reduce.ts';

/** Processes a row, given the index of its first element in every operand. */
type RowKernel = (
  data: TypedArray,
  at: readonly number[],
  length: number,
  round: (value: number) => number,
) => void;

/** Processes operands of equal shape row by row along the last dimension; the last one is the output. */
function byRow(row: RowKernel): KernelFactory {
  return (inputs, [out]) => {
    expectContiguous(...inputs, out!);
    const length = out!.shape.at(-1) ?? 1;
    const { dtype } = out!;
    const round = roundingOf(dtype);
    const rows = length === 0 ? 0 : sizeOf(out!.shape) / length;
    return (sources, [target]) => {
      const at = [...sources, target!].map((operand) => indexOf(operand, dtype));
      for (let r = 0; r < rows; r++) {
        row(heap.view(dtype), at, length, round);
        for (let k = 0; k < at.length; k++) at[k]! += length;
      }
    };
  };
}

function rowMax(data: TypedArray, from: number, length: number): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < length; i++) max = Math.max(max, data[from + i]!);
  return max;
}

export const logSoftmax = byRow((data, [from, to], length, round) => {
  const max = rowMax(data, from!, length);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    sum = round(sum + round(math.exp(round(data[from! + i]! - max))));
  }
  const logSum = round(math.log(sum));
  for (let i = 0; i < length; i++) {
    data[to! + i] = round(data[from! + i]! - max) - logSum;
  }
});

export const softmax = byRow((data, [from, to], length, round) => {
  const max = rowMax(data, from!, length);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    const e = round(math.exp(round(data[from! + i]! - max)));
    data[to! + i] = e;
    sum = round(sum + e);
  }
  for (let i = 0; i < length; i++) data[to! + i] = data[to! + i]! / sum;
});

export const logSoftmaxGrad = byRow((data, [dy, out, to], length, round) => {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = round(sum + data[dy! + i]!);
  for (let i = 0; i < length; i++) {
    const probability = round(math.exp(data[out! + i]!));
    data[to! + i] = data[dy! + i]! - round(probability * sum);
  }
});

export const softmaxGrad = byRow((data, [dy, out, to], length, round) => {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = round(sum + round(data[dy! + i]! * data[out! + i]!));
  for (let i = 0; i < length; i++) {
    data[to! + i] = round(data[dy! + i]! - sum) * data[out! + i]!;
  }
});
