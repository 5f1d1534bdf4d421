/** Elements of typed arrays created in the trace. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { keepBytes } from '../heap/buffers.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf } from '../state/value-guards.ts';
import { known, type NewTypedArrayVariable, type Variable } from '../variables/variable.ts';

export function readTypedArray({ data }: NewTypedArrayVariable, key: string): Variable | undefined {
  if (key === 'length') return known(data.length);
  return /^\d+$/.test(key) ? known(data[Number(key)]) : undefined;
}

export function writeTypedArray(
  t: Tracer,
  array: NewTypedArrayVariable,
  key: string,
  value: Variable,
): void {
  const number = constantOf(t, value);
  const isNumber = typeof number !== 'symbol' && typeof number !== 'bigint';
  if (!/^\d+$/.test(key) || !isNumber) {
    throw new GraphBreak('object-write', `the property ${key} of a typed array`);
  }
  keepBytes(t, array.data, array.madeIn);
  array.data[Number(key)] = Number(number);
}
