import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { isUnderPressure, relieve } from '../memory/pressure.ts';
import { shapeOf } from '../ops/record/expect-tensors.ts';
import type { TypedArray } from '../spec/dtype.ts';
import { sameShape } from '../spec/shape.ts';
import { numbersOf } from '../spec/stored-numbers.ts';
import type { Tensor } from '../tensor/tensor.ts';

export async function data(x: Tensor): Promise<TypedArray> {
  // Issued now, awaited later: what the user does to the tensor afterwards comes after the read.
  const read = x.device.download(x, withHolder(x, 'data'));
  const { counter } = x.device.allocator;
  if (!isUnderPressure(counter)) return read;
  const values = await read;
  await relieve(counter);
  return values;
}

export function dataSync(x: Tensor): TypedArray {
  return readSync(x, 'dataSync');
}

export async function item(x: Tensor): Promise<number> {
  return numbersOf(await data(single(x, 'item')), x.dtype)[0]!;
}

export function itemSync(x: Tensor): number {
  return numbersOf(readSync(single(x, 'itemSync'), 'itemSync'), x.dtype)[0]!;
}

/** All elements at once, for the method or function named `use`, which errors name. */
export function readSync(x: Tensor, use: string): TypedArray {
  return x.device.downloadSync(x, withHolder(x, use), use);
}

function withHolder(x: Tensor, use: string): Tensor {
  x.holderFor(use);
  return x;
}

/** Throws ShapeError for another number of elements. */
export function single(x: Tensor, use: string): Tensor {
  if (x.numel() === 1) return x;
  throw new ShapeError({
    what: `${use}: not a single value`,
    given: `${formatSpec(x)} with ${x.numel()} elements`,
    expected: 'a tensor with one element',
    remedy: 'reduce it first, or read all elements with data()',
  });
}

/** Whether two tensors have the same shape and the same values; NaN equals nothing. Reads both at once. */
export function equal(x: Tensor, other: Tensor): boolean {
  if (!sameShape(x.shape, shapeOf('equal', other))) return false;
  const [a, b] = [x, other].map((own) => numbersOf(readSync(own, 'equal'), own.dtype));
  for (let i = 0; i < a!.length; i++) if (a![i] !== b![i]) return false;
  return true;
}
