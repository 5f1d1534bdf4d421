/** Typed arrays created in the trace from known numbers. Pre-existing typed arrays are opaque. */

import type { TypedArray } from '../../../runtime/spec/dtype.ts';
import {
  type TypedArrayConstructor,
  typedArrayTypes,
} from '../../guards/types/typed-array-types.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardIdentity } from '../state/value-guards.ts';
import type { NewTypedArrayVariable, Variable } from '../variables/variable.ts';
import { expand } from './iterators.ts';

export function typedArrayVariable(t: Tracer, data: unknown): NewTypedArrayVariable {
  return { kind: 'newTypedArray', data: data as TypedArray, madeIn: t.builder };
}

const typedArrayBase = Object.getPrototypeOf(Int32Array) as TypedArrayConstructor;

/** `new Float32Array(n)`, or from an iterable. */
export function newTypedArray(
  t: Tracer,
  type: unknown,
  content: Variable | undefined,
): NewTypedArrayVariable {
  const constructor_ = type as TypedArrayConstructor;
  if (content?.kind === 'constant' || content?.kind === 'symbolic') {
    const length = constantOf(t, content);
    if (typeof length !== 'number' || !Number.isInteger(length) || length < 0 || length > 2 ** 20) {
      throw new GraphBreak('native-call', 'a typed array is made');
    }
    return typedArrayVariable(t, new constructor_(length));
  }
  return filled(t, constructor_, content ? expand(t, content) : []);
}

/** `Int32Array.of(…)`; undefined for any other function. */
export function typedArrayMade(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  if (fn !== typedArrayBase.of || receiver.kind !== 'function') return undefined;
  const type: unknown = receiver.value;
  if (!typedArrayTypes.has(type)) return undefined;
  guardIdentity(t, receiver);
  return filled(t, type as TypedArrayConstructor, args);
}

/** Creates a typed array from numbers that are known while tracing. */
export function filled(
  t: Tracer,
  type: TypedArrayConstructor,
  items: readonly Variable[],
): NewTypedArrayVariable {
  const numbers = items.map((item) => {
    const value = constantOf(t, item);
    if (typeof value !== 'number') throw new GraphBreak('native-call', 'a typed array is made');
    return value;
  });
  return typedArrayVariable(t, type.from(numbers));
}
