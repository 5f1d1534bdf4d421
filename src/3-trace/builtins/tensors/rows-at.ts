/** Rows of a tensor at a data-dependent position. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../../runtime/device/current.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import { indexSelect } from '../../../../runtime/ops/indexing/indexing.ts';
import { narrow, reshape, select, squeeze } from '../../../../runtime/ops/movement/movement.ts';
import { arange } from '../../../../runtime/ops/movement/ranges.ts';
import { where } from '../../../../runtime/ops/pointwise/comparison.ts';
import * as pointwise from '../../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { check } from '../../control-flow/numbers/check.ts';
import { methodNamed } from '../../control-flow/numbers/scalar-arguments.ts';
import { asNumber } from '../../control-flow/numbers/scalars.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { sizeOperand } from '../../values/numbers.ts';
import type { TensorVariable, Variable } from '../../variables/variable.ts';

/**
 * `select(dim, i)` and `narrow(dim, i, length)` with a device scalar `i`: returns a copy of the rows instead of a
 * view; undefined for other calls. A position out of range ends the run, and eager execution rejects it.
 */
export function rowsAt(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): TensorVariable | undefined {
  const isMethod = fn === methodNamed('select') || fn === methodNamed('narrow');
  if (!isMethod && fn !== select && fn !== narrow) return undefined;
  const [x, dimension, place, count] = isMethod ? [receiver, ...args] : args;
  if (x?.kind !== 'tensor' || place?.kind !== 'scalar' || !dimension) return undefined;
  if (dimension.kind === 'scalar' || count?.kind === 'scalar') return undefined;
  const tensor = t.use(x);
  const dim = Number(constantOf(t, dimension));
  const axis = dim < 0 ? dim + tensor.rank : dim;
  if (tensor.shape[axis] === undefined) {
    throw new GraphBreak('throw', `dimension ${dim} of ${tensor.rank}`);
  }
  const isRow = fn === select || fn === methodNamed('select');
  const at = asNumber(t, place);
  const operands = [tensor, at, isRow ? 1 : countOperand(t, count)];
  const fits = t.perform<Tensor>(operands, (values) => noGrad(() => isInside(axis, values)));
  check(t, fits, true);
  const index = t.perform<Tensor>(operands, (values) => noGrad(() => placesOf(axis, values)));
  const rows = t.perform<Tensor>([tensor, index], ([of, places]) =>
    indexSelect(of as Tensor, axis, places as Tensor),
  );
  const result = t.result(
    isRow ? t.perform<Tensor>([rows], ([row]) => squeeze(row as Tensor, axis)) : rows,
  );
  t.control.copied.note(t.builder, [tensor], [result.traced!]);
  return result;
}

function countOperand(t: Tracer, count: Variable | undefined): unknown {
  if (count?.kind === 'symbolic') return sizeOperand(t, count);
  return Number(count && constantOf(t, count));
}

/** Whether the tensor has the given number of rows at the place. */
function isInside(axis: number, operands: readonly unknown[]): Tensor {
  const [{ shape }, at, length] = operands as [Tensor, Tensor, number];
  const { ge, le, eq, trunc, logicalAnd } = pointwise;
  const first = fromStart(at, shape[axis]!);
  const inRange = logicalAnd(ge(first, 0), le(first, shape[axis]! - length));
  return logicalAnd(inRange, eq(at, trunc(at)));
}

/** Resolves a negative index, which counts from the end. */
const fromStart = (at: Tensor, size: number): Tensor =>
  where(pointwise.lt(at, 0), pointwise.add(at, size), at);

/** Their places as int32, from 0 on. */
function placesOf(axis: number, operands: readonly unknown[]): Tensor {
  const [{ shape }, at, length] = operands as [Tensor, Tensor, number];
  const first = reshape(fromStart(at, shape[axis]!), [1]);
  if (length === 1) return cast(first, 'int32');
  const offsets = deviceGuard(at.device, () => arange(0, length, 1, { dtype: 'float64' }));
  return cast(pointwise.add(offsets, first), 'int32');
}
