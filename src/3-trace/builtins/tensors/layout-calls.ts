/** Methods that return a tensor's layout: `x.size(0)` is `x.shape[0]`, a number that may vary between runs. */

import { normalizeDim } from '../../../../runtime/spec/shape.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import { dynamicElementCount } from '../../values/dynamic-properties.ts';
import { readProperty } from '../../values/properties.ts';
import { elementCount } from '../../values/tensor-properties.ts';
import { specialized } from '../../variables/unions.ts';
import type { TensorVariable, UnbackedTensor, Variable } from '../../variables/variable.ts';

type TensorOrUnbacked = TensorVariable | UnbackedTensor;

const count = (t: Tracer, x: TensorOrUnbacked): Variable =>
  x.kind === 'tensor' ? elementCount(t, x) : dynamicElementCount(t, x);

/** Returns the list of a property, or its entry for a dimension. */
const entry =
  (property: 'shape' | 'strides') =>
  (t: Tracer, x: TensorOrUnbacked, [dim]: readonly Variable[]): Variable => {
    const list = readProperty(t, x, property);
    const constantDim = dim && constantOf(t, specialized(dim));
    if (constantDim === undefined) return list;
    const entries = arrayElements(t, asArray(t, list)!);
    return entries[indexOf(constantDim as number, entries.length, property)]!;
  };

function indexOf(dim: number, rank: number, property: 'shape' | 'strides'): number {
  try {
    return normalizeDim(dim, rank, property === 'shape' ? 'size' : 'stride');
  } catch (error) {
    throw new GraphBreak('op-error', (error as Error).message, error);
  }
}

type Query = (t: Tracer, x: TensorOrUnbacked, args: readonly Variable[]) => Variable;

const property =
  (key: string): Query =>
  (t, x) =>
    readProperty(t, x, key);

const { prototype } = Tensor;

const queries: ReadonlyMap<unknown, Query> = new Map<unknown, Query>([
  [prototype.size, entry('shape')],
  [prototype.stride, entry('strides')],
  [prototype.numel, count],
  [prototype.nelement, count],
  [prototype.dim, property('rank')],
  [prototype.ndimension, property('rank')],
  [prototype.elementSize, property('itemsize')],
  [prototype.storageOffset, property('offset')],
]);

export const layoutMethods: readonly unknown[] = [...queries.keys()];

/** Returns undefined for other functions. */
export function callLayout(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  const query = queries.get(fn);
  const x = specialized(receiver);
  if (!query || (x.kind !== 'tensor' && x.kind !== 'dynamic')) return undefined;
  return query(t, x, args);
}
