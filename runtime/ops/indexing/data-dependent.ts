/** Ops with a data-dependent result shape: they read the data, so they break the graph. */

import { deviceGuard } from '../../device/current.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { broadcastShapes, type Shape } from '../../spec/shape.ts';
import { numbersOf } from '../../spec/stored-numbers.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { tensor } from '../core/create.ts';
import { contiguous, narrow, permute, reshape } from '../movement/movement.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { indexed } from './indexing.ts';

/** Thrown while a program is built: the shape is unknown before the program has run. */
export class ShapeDependsOnData extends ArgumentError {
  readonly op: string;
  constructor(op: string, x: Tensor) {
    super({
      what: `${op}: the shape of the result depends on the data`,
      given: `${formatSpec(x)} while a program is being built`,
      expected: 'a tensor with data',
      remedy: 'leave it to the graph break, or use where() with a mask',
    });
    this.op = op;
  }
}

/** Throws unless the tensor's data can be read: it is neither disposed nor a value of a program. */
function expectStored(op: string, x: Tensor): void {
  expectTensors(op, x);
  if (x.traced) throw new ShapeDependsOnData(op, x);
  x.holderFor(op);
}

/** Reads the numbers of a tensor, in row-major order, for an op whose result depends on them. */
export function readNumbers(op: string, x: Tensor): ReturnType<typeof numbersOf> {
  expectStored(op, x);
  return numbersOf(x.device.downloadSync(x, x, op), x.dtype);
}

/** Returns the smallest and largest number: Infinity and −Infinity if there are none, NaN if any is NaN. */
export function extremesOf(numbers: ArrayLike<number>): { least: number; most: number } {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < numbers.length; i++) {
    least = Math.min(least, numbers[i]!);
    most = Math.max(most, numbers[i]!);
  }
  return { least, most };
}

/** Like `coordinateTensor`, for a tensor of a program, where only a run knows the count. */
type FindInProgram = (x: Tensor) => Tensor | null;

let findInProgram: FindInProgram | null = null;

/** Runs `body` with `find` for the tensors of the program under construction. */
export function findingNonzero<T>(find: FindInProgram, body: () => T): T {
  const outer = findInProgram;
  findInProgram = find;
  try {
    return body();
  } finally {
    findInProgram = outer;
  }
}

/** Returns the row-major coordinates of all nonzero elements: int32 [rank, count]. */
function coordinateTensor(op: string, x: Tensor): Tensor {
  expectTensors(op, x);
  const found = x.traced && findInProgram?.(x);
  if (found) return found;
  const values = readNumbers(op, x);
  let count = 0;
  // Branch-free: branches might be mispredicted half of the time.
  for (let i = 0; i < values.length; i++) count += Number(values[i] !== 0);
  const data = new Int32Array(x.rank * count);
  const columns = x.shape.at(-1) ?? 1;
  let index = 0;
  // A scalar's element has no coordinates: writes at negative indices have no effect.
  for (let start = 0; index < count; start += columns) {
    const first = index;
    for (let column = 0; column < columns && index < count; column++) {
      data[(x.rank - 1) * count + index] = column;
      index += Number(values[start + column] !== 0);
    }
    if (index === first) continue;
    // The other coordinates are the same in the whole row.
    let rest = start / columns;
    for (let d = x.rank - 2; d >= 0; d--) {
      const size = x.shape[d]!;
      data.fill(rest % size, d * count + first, d * count + index);
      rest = Math.floor(rest / size);
    }
  }
  return deviceGuard(x.device, () => tensor(data, { shape: [x.rank, count] }));
}

export interface NonzeroOptions {
  /** Returns one int32 vector per dimension instead, the form that `index` accepts. */
  readonly asTuple?: boolean;
}

/** The indices of nonzero elements: int32 [count, dimensions], in row-major order. Reads the data. */
export function nonzero(x: Tensor, options: { readonly asTuple: true }): Tensor[];
export function nonzero(x: Tensor, options?: { readonly asTuple?: false }): Tensor;
export function nonzero(x: Tensor, options: NonzeroOptions = {}): Tensor | Tensor[] {
  expectOptions('nonzero', options, { asTuple: flag });
  // A scalar counts as a vector here, as in PyTorch.
  if (options.asTuple) return nonzeroColumns('nonzero', x.rank > 0 ? x : reshape(x, [1]));
  return tidy(() => contiguous(permute(coordinateTensor('nonzero', x), [1, 0])));
}

/** Returns the indices of `nonzero` as one int32 vector per dimension, as used for indexing with a mask. */
export function nonzeroColumns(op: string, x: Tensor): Tensor[] {
  return tidy(() => {
    const table = coordinateTensor(op, x);
    const [count] = table.shape.slice(1) as [number];
    return x.shape.map((_, d) => reshape(narrow(table, 0, d, 1), [count]));
  });
}

/** The elements where the mask is true, in row-major order; both broadcast. Reads the mask. */
export function maskedSelect(x: Tensor, mask: Tensor): Tensor {
  expectTensors('maskedSelect', x, mask);
  return tidy(() => {
    const shape: Shape = broadcastShapes(x.shape, mask.shape, 'maskedSelect');
    const test = expand(cast(mask, 'bool'), shape);
    const source = expand(x, shape);
    // A scalar has no dimension to select along.
    if (shape.length === 0) {
      const places = coordinateTensor('maskedSelect', reshape(test, [1]));
      return indexed(reshape(source, [1]), places, { dim: 0, wraps: false });
    }
    const places = coordinateTensor('maskedSelect', test);
    return indexed(source, places, { dim: 0, wraps: false });
  });
}
