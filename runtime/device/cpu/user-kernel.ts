import { DataError } from '../../errors/errors.ts';
import type { KernelThis, UserKernel } from '../../ops/user-kernel.ts';
import type { TensorMeta } from '../../tensor/meta.ts';
import { sizeOf } from '../../tensor/shape.ts';
import type { Launch, Operand } from '../device.ts';
import { heap } from './heap.ts';
import { expectContiguous, indexOf } from './kernel.ts';

/** A number, or nested arrays of them: what the function indexes. */
type Elements = number | ArrayLike<number> | readonly Elements[];

/** Calls the user's function for each element. It computes in float64; results are rounded to float32. */
export function userKernel(
  kernel: UserKernel,
  inputs: readonly TensorMeta[],
  [out]: readonly TensorMeta[],
): Launch {
  expectContiguous(...inputs, out!);
  const [x = 1, y = 1, z = 1] = out!.shape.toReversed();
  return (operands, [target]) => {
    const given = inputs.map((meta, i) => elementsOf(meta, operands[i]!));
    const thread = { x: 0, y: 0, z: 0 };
    const self: KernelThis = { thread, constants: kernel.constants, output: { x, y, z } };
    const results = heap.view('float32');
    let at = indexOf(target!, 'float32');
    const compute = kernel.element as (this: KernelThis, ...operands: Elements[]) => number;
    try {
      for (thread.z = 0; thread.z < z; thread.z++) {
        for (thread.y = 0; thread.y < y; thread.y++) {
          for (thread.x = 0; thread.x < x; thread.x++) {
            results[at++] = Reflect.apply(compute, self, given);
          }
        }
      }
    } catch (error) {
      throw failed(kernel, thread, error);
    }
  };
}

function elementsOf({ dtype, shape }: TensorMeta, operand: Operand): Elements {
  const from = indexOf(operand, dtype);
  const view = heap.view(dtype);
  if (shape.length === 0) return view[from]!;
  const nested = (dim: number, first: number): Elements => {
    const rest = sizeOf(shape.slice(dim + 1));
    if (dim === shape.length - 1) return view.subarray(first, first + shape[dim]!);
    return Array.from({ length: shape[dim]! }, (_, i) => nested(dim + 1, first + i * rest));
  };
  return nested(0, from);
}

function failed(
  { name }: UserKernel,
  { x, y, z }: KernelThis['thread'],
  error: unknown,
): DataError {
  return new DataError({
    what: `gpuKernel: ${name} throws`,
    given: `${error instanceof Error ? error.message : String(error)}, at x = ${x}, y = ${y}, z = ${z}`,
    expected: 'a number for every element: a GPU has no exceptions',
    remedy: 'keep every index inside of its operand',
  });
}
