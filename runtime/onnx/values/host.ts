import { tensor } from '../../ops/core/create.ts';
import type { DType } from '../../spec/dtype.ts';
import { numbersOf } from '../../spec/stored-numbers.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { wrongSetting } from './wrong-setting.ts';

/**
 * Numbers that a model computes besides its tensors: sizes, places, axes, and fractions of them. They are JavaScript numbers, so a
 * compiled program knows them. int64 tensors are such numbers, since tensors here have at most 32 bits per integer.
 */
export interface Host {
  readonly shape: readonly number[];
  readonly values: readonly number[];
  /** The dtype of the value as a tensor. */
  readonly dtype: DType;
}

export function hostOf(
  values: readonly number[],
  shape: readonly number[],
  dtype: DType = 'int32',
): Host {
  return { values: dtype === 'float32' ? values.map(Math.fround) : values, shape, dtype };
}

/** A value of a model while it runs; null: an optional one that is omitted. */
export type Value = Tensor | Host;
export type Operand = Value | null;

export const isHost = (value: Operand | undefined): value is Host =>
  value !== null && value !== undefined && !(value instanceof Tensor);

/** The value as a tensor; beyond 32 bits integers are the nearest ones that a tensor has. */
export function tensorOf(value: Value): Tensor {
  if (value instanceof Tensor) return value;
  const { values, shape, dtype } = value;
  const own = dtype === 'int32' ? values.map(clampInt) : values;
  return tensor([...own], { dtype }).reshape(shape);
}

const clampInt = (value: number): number => Math.min(Math.max(value, -(2 ** 31)), 2 ** 31 - 1);

/** How many elements a shape has. */
export const countOf = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);

/** The numbers of a value; those of a tensor are read. */
export function numbersIn(value: Value): readonly number[] {
  if (isHost(value)) return value.values;
  return Array.from(numbersOf(value.dataSync(), value.dtype), Number);
}

/** The only number of a value. Throws ArgumentError for one of another number of elements. */
export function numberIn(value: Value): number {
  const values = numbersIn(value);
  if (values.length === 1) return values[0]!;
  throw wrongSetting(`${values.length} numbers`, 'one number');
}

/** The numbers of a value of integers. Throws ArgumentError for floating-point ones. */
export function integersIn(value: Value): readonly number[] {
  const { dtype } = value;
  if (dtype === 'int32' || dtype === 'uint8') return numbersIn(value);
  throw wrongSetting(`numbers of ${dtype}`, 'integers');
}

export function integerIn(value: Value): number {
  integersIn(value);
  return numberIn(value);
}

/**
 * The most numbers that an operator computes in JavaScript. They are sizes and places, a few for each dimension; more of them
 * come from a damaged file.
 */
const mostHostNumbers = 2 ** 20;

/** The number of elements of a shape. Throws ArgumentError where no list can have them. */
export function hostCount(shape: readonly number[]): number {
  const count = countOf(shape);
  if (shape.every((size) => size >= 0) && count <= mostHostNumbers) return count;
  throw wrongSetting(
    `shape [${shape.join(', ')}] of integers`,
    `at most ${mostHostNumbers} of them`,
  );
}

/** The same numbers in another shape. Throws ArgumentError for one of another number of elements. */
export function reshapedHost({ values, dtype }: Host, shape: readonly number[]): Host {
  if (countOf(shape) === values.length) return hostOf(values, shape, dtype);
  throw wrongSetting(`shape [${shape.join(', ')}]`, `a shape of ${values.length} elements`);
}

/** Elements in another order: `from` says where an element of the result is in the operand. */
export function rearranged(
  x: Host,
  shape: readonly number[],
  from: (at: readonly number[]) => readonly number[],
): Host {
  const values: number[] = [];
  const count = hostCount(shape);
  for (let i = 0; i < count; i++) {
    const at: number[] = [];
    let rest = i;
    for (let d = shape.length - 1; d >= 0; d--) {
      at.unshift(rest % shape[d]!);
      rest = Math.floor(rest / shape[d]!);
    }
    const source = from(at);
    values.push(x.values[source.reduce((place, own, d) => place * x.shape[d]! + own, 0)]!);
  }
  return hostOf(values, shape, x.dtype);
}

/** Elements of all of them, broadcast against each other. Throws ArgumentError for results that are not integers. */
export function broadcastHosts(
  hosts: readonly Host[],
  dtype: DType,
  fn: (...numbers: number[]) => number,
): Host {
  const rank = Math.max(...hosts.map(({ shape }) => shape.length));
  const shape = Array.from({ length: rank }, (_, d) => {
    const sizes = hosts.map((host) => host.shape[d - rank + host.shape.length] ?? 1);
    const size = sizes.find((each) => each !== 1) ?? 1;
    if (sizes.every((each) => each === 1 || each === size)) return size;
    throw wrongSetting(`sizes ${sizes.join(' and ')}`, 'shapes that broadcast');
  });
  const count = hostCount(shape);
  const values: number[] = [];
  for (let i = 0; i < count; i++) {
    const operands = hosts.map((host) => host.values[placeIn(host.shape, shape, i)]!);
    values.push(fn(...operands));
  }
  return hostOf(values, shape, dtype);
}

/** Place of element `i` of `shape` in an operand that broadcasts to it. */
function placeIn(own: readonly number[], shape: readonly number[], i: number): number {
  let [place, stride, rest] = [0, 1, i];
  for (let d = shape.length - 1; d >= 0; d--) {
    const at = rest % shape[d]!;
    rest = Math.floor(rest / shape[d]!);
    const size = own[d - shape.length + own.length];
    if (size === undefined) continue;
    if (size !== 1) place += at * stride;
    stride *= size;
  }
  return place;
}
