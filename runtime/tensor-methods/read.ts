import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { pauseDue } from '../memory/pressure.ts';
import { shapeOf } from '../ops/record/expect-tensors.ts';
import type { TypedArray } from '../spec/dtype.ts';
import { sameShape } from '../spec/shape.ts';
import { numbersOf } from '../spec/stored-numbers.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Resolves with the elements in row-major order, as a typed array of the dtype. */
export async function data(x: Tensor): Promise<TypedArray> {
  // Issued now and awaited later, so that the user's later writes don't affect it.
  const read = x.device.download(x, withHolder(x, 'data'));
  const pause = pauseDue(x.device.allocator.counter);
  if (!pause) return read;
  const values = await read;
  await pause();
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

/** Reads all elements synchronously; errors name the calling method or function `use`. */
export function readSync(x: Tensor, use: string): TypedArray {
  return x.device.downloadSync(x, withHolder(x, use), use);
}

function withHolder(x: Tensor, use: string): Tensor {
  x.holderFor(use);
  return x;
}

/** Returns the tensor if it has one element; throws ShapeError otherwise. */
export function single(x: Tensor, use: string): Tensor {
  if (x.numel() === 1) return x;
  throw new ShapeError({
    what: `${use}: not a single value`,
    given: `${formatSpec(x)} with ${x.numel()} elements`,
    expected: 'a tensor with one element',
    remedy: 'reduce it first, or read all elements with data()',
  });
}

/** Whether two tensors have the same shape and values; NaN doesn't equal itself. Reads both synchronously. */
export function equal(x: Tensor, other: Tensor): boolean {
  if (!sameShape(x.shape, shapeOf('equal', other))) return false;
  const [a, b] = [x, other].map((each) => numbersOf(readSync(each, 'equal'), each.dtype));
  for (let i = 0; i < a!.length; i++) if (a![i] !== b![i]) return false;
  return true;
}
