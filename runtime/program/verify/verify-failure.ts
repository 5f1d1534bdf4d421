import type { TensorSpec } from '../../device/tensor-meta.ts';
import { DataError } from '../../errors/errors.ts';
import { dtypes } from '../../spec/dtype.ts';

/** Rejects a file's program; the arguments say what it contains and what a valid one contains. */
export type Fail = (given: string, expected: string) => never;

export function failureAt(where: string): Fail {
  return (given, expected) => {
    throw new DataError({
      what: `load: a program that cannot run, at ${where}`,
      given,
      expected,
      remedy: 'save it again, or get another copy of the file',
    });
  };
}

/** Rejects an invalid spec, which an op may infer from arbitrary attributes. */
export function expectSpec({ dtype, shape }: TensorSpec, fail: Fail): void {
  if (!Object.hasOwn(dtypes, dtype)) fail(`a result of dtype ${String(dtype)}`, 'a dtype');
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size));
  if (!isShape) fail('a result with an invalid shape', 'a list of sizes');
}
