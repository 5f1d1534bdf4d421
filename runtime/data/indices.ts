import { ArgumentError } from '../errors/errors.ts';
import { expectArguments } from '../options/expect-options.ts';
import { that } from '../options/option-kinds.ts';

const several = that('an array of indices', (value) => typeof value === 'object' && value !== null);

/** Returns the indices of samples as 32-bit integers; throws ArgumentError for one that no sample has. */
export function indicesOf(
  what: string,
  values: Iterable<number> | ArrayLike<number>,
  length: number,
): Int32Array {
  expectArguments(what, { indices: values }, { indices: several });
  const indices = Array.from(values);
  const strange = indices.find((i) => !(Number.isInteger(i) && i >= 0 && i < length));
  if (strange === undefined) return Int32Array.from(indices);
  throw new ArgumentError({
    what: `${what}: no such sample`,
    given: `index ${strange} of ${length} samples`,
    expected: `integers from 0 to ${length - 1}`,
    remedy: 'check the indices, or the sampler, against the length of the data set',
  });
}
