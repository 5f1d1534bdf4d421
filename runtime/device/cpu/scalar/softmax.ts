import { sizeOf } from '../../../tensor/shape.ts';
import { heap } from '../heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../kernel.ts';

const { fround } = Math;

/** Calls `row` with the index of the first element of each row of every operand. */
type RowKernel = (data: Float32Array, at: readonly number[], length: number) => void;

/** Operands of equal shape, taken row by row along the last dimension; the last one is the output. */
function byRow(row: RowKernel): KernelFactory {
  return (inputs, [out]) => {
    expectContiguous(...inputs, out!);
    const length = out!.shape.at(-1) ?? 1;
    const rows = length === 0 ? 0 : sizeOf(out!.shape) / length;
    return (sources, [target]) => {
      const at = [...sources, target!].map((operand) => indexOf(operand, 'float32'));
      for (let r = 0; r < rows; r++) {
        row(heap.f32, at, length);
        for (let k = 0; k < at.length; k++) at[k]! += length;
      }
    };
  };
}

function rowMax(data: Float32Array, from: number, length: number): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < length; i++) max = Math.max(max, data[from + i]!);
  return max;
}

export const logSoftmax = byRow((data, [from, to], length) => {
  const max = rowMax(data, from!, length);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    sum = fround(sum + fround(Math.exp(fround(data[from! + i]! - max))));
  }
  const logSum = fround(Math.log(sum));
  for (let i = 0; i < length; i++) {
    data[to! + i] = fround(data[from! + i]! - max) - logSum;
  }
});

export const softmax = byRow((data, [from, to], length) => {
  const max = rowMax(data, from!, length);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    const e = fround(Math.exp(fround(data[from! + i]! - max)));
    data[to! + i] = e;
    sum = fround(sum + e);
  }
  for (let i = 0; i < length; i++) data[to! + i]! /= sum;
});

export const logSoftmaxGrad = byRow((data, [dy, out, to], length) => {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = fround(sum + data[dy! + i]!);
  for (let i = 0; i < length; i++) {
    const probability = fround(Math.exp(data[out! + i]!));
    data[to! + i] = data[dy! + i]! - fround(probability * sum);
  }
});

export const softmaxGrad = byRow((data, [dy, out, to], length) => {
  let sum = 0;
  for (let i = 0; i < length; i++) sum = fround(sum + fround(data[dy! + i]! * data[out! + i]!));
  for (let i = 0; i < length; i++) {
    data[to! + i] = fround(data[dy! + i]! - sum) * data[out! + i]!;
  }
});
