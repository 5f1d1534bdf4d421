/**
 * Arrays of tensors that grow between calls, as operands of the tensor API: `cat(cache)`. One trace serves any
 * number of elements, as long as the code only passes all of them on together.
 */

import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { listLayout } from '../../guards/list-layout.ts';
import { isGrown } from '../control-flow/lists/growable-array.ts';
import { layoutSource, type OuterTensors } from '../inputs/outer-tensors.ts';
import type { Tracer } from '../state/tracer.ts';
import type { NewArrayVariable, Variable } from '../variables/variable.ts';
import { type ArrayVariable, asArray, itemsOf, lengthBefore } from './arrays.ts';
import { isPristine } from './protocols.ts';

interface VaryingTensors {
  readonly tensors: OuterTensors;
  /** Values that the trace has appended. */
  readonly appended: readonly Variable[];
}

/** Returns undefined if the number of elements has been constant so far, or if the trace uses single elements. */
export function outerTensors(t: Tracer, array: ArrayVariable): VaryingTensors | undefined {
  if (t.isInRegion) return undefined;
  if (array.kind === 'newArray') {
    const { extended } = array;
    if (!extended) return undefined;
    const { outer, appended } = extended;
    // The tensors of the copy, whatever happens to the array afterwards.
    return { tensors: t.useAll(outer.source, outer.value as readonly Tensor[])!, appended };
  }
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

/**
 * Returns the array of `[...outer, …]`; undefined if it is made element by element. If the trace needs single elements
 * after all, it starts again, and makes this one element by element.
 */
export function extendedArray(
  t: Tracer,
  given: Variable,
  appended: readonly Variable[] = [],
): NewArrayVariable | undefined {
  const { closure, pc } = t.top;
  const { plans } = t.control;
  if (given.kind !== 'object' || plans.copiesElements(closure.code, pc)) return undefined;
  const outer = asArray(t, given);
  if (outer !== given || t.effects.array(given.value) || !isPristine(t, 'array')) return undefined;
  if (!outerTensors(t, outer)) return undefined;
  return {
    kind: 'newArray',
    extended: { outer: given, appended: [...appended] },
    get elements(): Variable[] {
      return plans.copyElements(closure.code, pc);
    },
  };
}
