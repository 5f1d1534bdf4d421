import { tensor } from '../../ops/core/create.ts';
import type { DType } from '../../spec/dtype.ts';
import { numbersOf } from '../../spec/stored-numbers.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { wrongSetting } from './wrong-setting.ts';

/**
 * Numbers that a model computes besides its tensors: sizes, indices, axes, and fractions of them. They are JavaScript
 * numbers, so that compiled programs know them. So are int64 tensors, because tensors have at most 32 bits per integer.
 */
export interface Host {
  readonly shape: readonly number[];
  readonly values: readonly number[];
  /** The dtype that the value has as a tensor. */
  readonly dtype: DType;
}

export function hostOf(
  values: readonly number[],
  shape: readonly number[],
  dtype: DType = 'int32',
): Host {
  return { values: dtype === 'float32' ? values.map(Math.fround) : values, shape, dtype };
}

/** A value of a running model; null for an omitted optional value. */
export type Value = Tensor | Host;
export type Operand = Value | null;

export const isHost = (value: Operand | undefined): value is Host =>
  value !== null && value !== undefined && !(value instanceof Tensor);

/** Returns the value as a tensor; integers beyond 32 bits are clamped to the nearest representable ones. */
export function tensorOf(value: Value): Tensor {
  if (value instanceof Tensor) return value;
  const { values, shape, dtype } = value;
  const clamped = dtype === 'int32' ? values.map(clampInt) : values;
  return tensor([...clamped], { dtype }).reshape(shape);
}

const clampInt = (value: number): number => Math.min(Math.max(value, -(2 ** 31)), 2 ** 31 - 1);

/** Returns the number of elements of a shape. */
export const countOf = (shape: readonly number[]): number =>
  shape.reduce((product, size) => product * size, 1);

/** Returns the numbers of a value, reading them if it is a tensor. */
export function numbersIn(value: Value): readonly number[] {
  if (isHost(value)) return value.values;
  return Array.from(numbersOf(value.dataSync(), value.dtype), Number);
}

/** Returns a value's only number. Throws ArgumentError if there isn't exactly one. */
export function numberIn(value: Value): number {
  const values = numbersIn(value);
  if (values.length === 1) return values[0]!;
  throw wrongSetting(`${values.length} numbers`, 'one number');
}

/** Returns the numbers of an integer value. Throws ArgumentError for floating-point. */
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
 * The limit of numbers that an operator computes in JavaScript. Real models have a few per dimension (sizes and
 * indices); only damaged files exceed it.
 */
const mostHostNumbers = 2 ** 20;

/** Returns the number of elements of a shape. Throws ArgumentError above `mostHostNumbers`. */
export function hostCount(shape: readonly number[]): number {
  const count = countOf(shape);
  if (shape.every((size) => size >= 0) && count <= mostHostNumbers) return count;
  throw wrongSetting(
    `shape [${shape.join(', ')}] of integers`,
    `at most ${mostHostNumbers} of them`,
  );
}

/** Returns the same numbers in another shape. Throws ArgumentError if the number of elements differs. */
export function reshapedHost({ values, dtype }: Host, shape: readonly number[]): Host {
  if (countOf(shape) === values.length) return hostOf(values, shape, dtype);
  throw wrongSetting(`shape [${shape.join(', ')}]`, `a shape of ${values.length} elements`);
}

/** Reorders elements: `from` returns the operand index of each result element. */
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
    values.push(x.values[source.reduce((offset, each, d) => offset * x.shape[d]! + each, 0)]!);
  }
  return hostOf(values, shape, x.dtype);
}

/** Combines the elements of all operands, broadcast. Throws ArgumentError if a result is not an integer. */
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

/** Returns the index, in an operand that broadcasts to `shape`, for element `i` of `shape`. */
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
