/**
 * Arrays of tensors that grow between calls, as operands of the tensor API: `cat(cache)`. One trace serves any
 * number of elements, as long as the code only passes all of them on together.
 */

import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { listLayout } from '../../guards/list-layout.ts';
import { isGrown } from '../control-flow/lists/growable-array.ts';
import { layoutSource, type OuterTensors } from '../inputs/outer-tensors.ts';
import type { Tracer } from '../state/tracer.ts';
import type { Variable } from '../variables/variable.ts';
import { type ArrayVariable, itemsOf, lengthBefore } from './arrays.ts';

interface VaryingTensors {
  readonly tensors: OuterTensors;
  /** Values that the trace has appended. */
  readonly appended: readonly Variable[];
}

/** Returns undefined if the number of elements has been constant so far, or if the trace uses single elements. */
export function outerTensors(t: Tracer, array: ArrayVariable): VaryingTensors | undefined {
  if (array.kind !== 'object' || t.isInRegion) return undefined;
  const { value, source } = array;
  const content = t.effects.array(value)?.content;
  if (content && isGrown(content)) return undefined;
  if (lengthBefore(t, array).kind !== 'symbolic' || listLayout(value) === undefined) {
    return undefined;
  }
  const elements = value as readonly Tensor[];
  const isWritten = elements.some((_, i) => t.effects.written(value, source, String(i)));
  const tensors = isWritten ? undefined : t.useAll(source, elements);
  if (!tensors) return undefined;
  t.sizes.addKey(layoutSource(source));
  return { tensors, appended: content ? itemsOf(content) : [] };
}
