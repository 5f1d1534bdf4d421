/** Elements of typed arrays that were made inside. */

import { GraphBreak } from '../traces/graph-break.ts';
import { constantOf } from './facts.ts';
import type { Tracer } from './tracer.ts';
import { known, type NewTypedArrayVariable, type Variable } from './variable.ts';

export function readTypedArray({ data }: NewTypedArrayVariable, key: string): Variable {
  if (key === 'length') return known(data.length);
  if (/^\d+$/.test(key)) return known(data[Number(key)]);
  throw new GraphBreak('unsupported-value', `the property ${key} of a typed array`);
}

export function writeTypedArray(
  t: Tracer,
  { data }: NewTypedArrayVariable,
  key: string,
  value: Variable,
): void {
  const number = constantOf(t, value);
  if (!/^\d+$/.test(key) || typeof number !== 'number') {
    throw new GraphBreak('object-write', `the property ${key} of a typed array`);
  }
  const before = data[Number(key)]!;
  t.journal.note(() => {
    data[Number(key)] = before;
  });
  data[Number(key)] = number;
}
