/**
 * The elements in which a module finds its state: one fact of an array, so that a history which grows in a module
 * leaves traces of `parameters()` and `train()` valid.
 */

import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { statePlacesIn } from '../../../guards/list-layout.ts';
import { isGrowable } from '../../control-flow/lists/growable-array.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { asArray, itemsOf } from '../../values/arrays.ts';
import { isPrimitiveVariable } from '../../values/to-primitive.ts';
import { known, newArray, type Variable } from '../../variables/variable.ts';

/** Undefined for arrays whose state the trace itself decides: then the function's own code is traced. */
export function traceStatePlaces(
  t: Tracer,
  _receiver: Variable,
  [list]: readonly Variable[],
): Variable | undefined {
  const array = list && asArray(t, list, 'end');
  if (array?.kind !== 'object' || t.isInRegion) return undefined;
  const { value, source } = array;
  const changed = t.effects.array(value);
  if (changed && (changed.whole || isGrowable(changed.content))) return undefined;
  if (changed && !itemsOf(changed.content).every(isPrimitiveVariable)) return undefined;
  for (const [object] of t.effects.entries()) if (object === value) return undefined;
  if (mayGainState(t, value as readonly unknown[])) return undefined;
  const text = statePlacesIn(value);
  if (text === undefined) return undefined;
  t.effects.met.touchContent(value, source);
  const query = { kind: 'query', base: source, query: 'statePlaces', key: undefined } as const;
  constantOf(t, t.read(query, text));
  return newArray(text === '' ? [] : text.split(',').map((index) => known(Number(index))));
}

/** Whether the trace may have made a tensor among the elements a parameter or buffer. */
function mayGainState(t: Tracer, elements: readonly unknown[]): boolean {
  const { switched, collectionChanges } = t.effects;
  if (switched.size === 0 && collectionChanges.every(({ key }) => key?.kind !== 'tensor')) {
    return false;
  }
  return elements.some((each) => each instanceof Tensor);
}
