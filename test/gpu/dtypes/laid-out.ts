import fc from 'fast-check';
import { tensor } from '../../../runtime/ops/core/create.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { storedNumbers } from '../../../runtime/spec/stored-numbers.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';

/** How a tensor's elements lie in memory. */
export interface View {
  /** Sorting keys of the dimensions. */
  readonly order: readonly number[];
  /** Elements cut off before and after, per dimension. */
  readonly cut: readonly (readonly [number, number])[];
  /** Dimensions that are stored once and repeated. */
  readonly repeated: readonly boolean[];
}

const rank = 3;

export const viewOf = fc.record({
  order: fc.array(fc.nat(99), { minLength: rank, maxLength: rank }),
  cut: fc.array(fc.tuple(fc.nat(2), fc.nat(1)), { minLength: rank, maxLength: rank }),
  repeated: fc.array(fc.boolean(), { minLength: rank, maxLength: rank }),
});

/** Views that may be written to. */
export const unrepeatedOf = viewOf.map((view) => ({
  ...view,
  repeated: view.repeated.map(() => false),
}));

export const shapeOf = fc.array(fc.integer({ min: 1, max: 6 }), {
  minLength: rank,
  maxLength: rank,
});

/** Numbers of every size that the dtype has. */
function numberOf(dtype: DType, i: number, salt: number): number {
  const value = Math.sin(i * 1.7 + salt);
  if (dtype === 'int32') return Math.floor(value * 2 ** 31);
  if (dtype === 'uint8') return Math.floor((value + 1) * 127.5);
  return dtype === 'bool' ? Number(value > 0) : value;
}

/** A tensor of the shape whose elements lie in memory in some other way. */
export function laidOut(
  shape: readonly number[],
  { order, cut, repeated }: View,
  salt: number,
  dtype: DType = 'float32',
): Tensor {
  const by = [...shape.keys()].sort((a, b) => order[a]! - order[b]!);
  const stored = by.map((d) => (repeated[d] ? 1 : cut[d]![0] + shape[d]! + cut[d]![1]));
  const numbers = Array.from({ length: sizeOf(stored) }, (_, i) => numberOf(dtype, i, salt));
  let view: Tensor = tensor(storedNumbers(numbers, dtype, 'test'), { shape: stored, dtype });
  by.forEach((d, at) => {
    if (!repeated[d]) view = view.narrow(at, cut[d]![0], shape[d]!);
  });
  return view.permute(shape.map((_, d) => by.indexOf(d))).expand(shape);
}
