import type { TensorSpec } from '../../device/tensor-meta.ts';
import { DataError } from '../../errors/errors.ts';
import { dtypes } from '../../spec/dtype.ts';

/** Rejects a file's program, given what was found and what a valid program has. */
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

/** Rejects an invalid spec: an op may infer its results from any attribute. */
export function expectSpec({ dtype, shape }: TensorSpec, fail: Fail): void {
  if (!Object.hasOwn(dtypes, dtype)) fail(`a result of dtype ${String(dtype)}`, 'a dtype');
  const isShape = Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size));
  if (!isShape) fail('a result with an invalid shape', 'a list of sizes');
}
