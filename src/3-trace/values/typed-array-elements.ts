/** Elements of typed arrays that were made inside. */

import { GraphBreak } from '../../traces/graph-break.ts';
import { constantOf } from '../state/facts.ts';
import type { Tracer } from '../state/tracer.ts';
import { known, type NewTypedArrayVariable, type Variable } from '../variables/variable.ts';

export function readTypedArray({ data }: NewTypedArrayVariable, key: string): Variable | undefined {
  if (key === 'length') return known(data.length);
  return /^\d+$/.test(key) ? known(data[Number(key)]) : undefined;
}

/**
 * Before a change, which is taken back with the attempt that it belongs to. A branch or loop changes only the typed
 * arrays that it has made: paths can't be told apart by the numbers of others.
 */
export function keepNumbers(t: Tracer, { data, madeIn }: NewTypedArrayVariable): void {
  if (t.isInRegion) {
    if (madeIn === t.builder) return;
    throw new GraphBreak('branch-effect', 'a branch or loop changes a typed array');
  }
  const before = data.slice();
  t.journal.note(() => data.set(before));
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
  keepNumbers(t, array);
  array.data[Number(key)] = Number(number);
}
