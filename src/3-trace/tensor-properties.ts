import { Tensor } from '../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import type { Tracer } from './tracer.ts';
import { known, newArray, type TensorVariable, type Variable } from './variable.ts';

/** Facts that the guard on the tensor fixes. */
const metaProperties = new Set(['dtype', 'rank', 'size', 'requiresGrad', 'isLeaf', 'disposed']);

/** `x.key` for a tensor. */
export function readTensorProperty(t: Tracer, variable: TensorVariable, key: string): Variable {
  if (key === 'shape') {
    variable.shape ??= newArray(t.use(variable).shape.map((dim) => known(dim)));
    return variable.shape;
  }
  if (metaProperties.has(key)) {
    const value: unknown = t.use(variable)[key as keyof Tensor];
    return known(value as string | number | boolean);
  }
  const method: unknown = Object.getOwnPropertyDescriptor(Tensor.prototype, key)?.value;
  if (typeof method === 'function') {
    t.use(variable);
    return { kind: 'function', value: method as (...args: never[]) => unknown, source: null };
  }
  throw new GraphBreak('unsupported-value', `the property ${key} of a tensor`);
}
