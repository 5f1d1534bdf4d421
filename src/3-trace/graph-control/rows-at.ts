/** Rows of a tensor at a number of the program. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import { cast } from '../../../runtime/ops/cast.ts';
import { where } from '../../../runtime/ops/comparison.ts';
import { indexSelect } from '../../../runtime/ops/indexing.ts';
import { narrow, reshape, select, squeeze } from '../../../runtime/ops/movement.ts';
import * as pointwise from '../../../runtime/ops/pointwise.ts';
import { arange } from '../../../runtime/ops/ranges.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import type { TensorVariable, Variable } from '../variable.ts';
import { check } from './check.ts';
import { methodNamed } from './scalar-arguments.ts';
import { asNumber } from './scalars.ts';

/**
 * `select(dim, i)` and `narrow(dim, i, length)` at a number of the program: no view, but a copy of these
 * rows. Undefined for other calls. A place that the tensor doesn't have ends the run, and eager execution
 * refuses it.
 */
export function rowsAt(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  given: readonly Variable[],
): TensorVariable | undefined {
  const isMethod = fn === methodNamed('select') || fn === methodNamed('narrow');
  if (!isMethod && fn !== select && fn !== narrow) return undefined;
  const [x, dimension, place, count] = isMethod ? [receiver, ...given] : given;
  if (x?.kind !== 'tensor' || place?.kind !== 'scalar' || !dimension) return undefined;
  if (dimension.kind === 'scalar' || count?.kind === 'scalar') return undefined;
  const tensor = t.use(x);
  const dim = Number(constantOf(t, dimension));
  const axis = dim < 0 ? dim + tensor.rank : dim;
  const size = tensor.shape[axis];
  if (size === undefined) throw new GraphBreak('throw', `dimension ${dim} of ${tensor.rank}`);
  // Places are counted by the size that is here: another one is a trace of its own.
  t.sizes.fixed = true;
  const isRow = fn === select || fn === methodNamed('select');
  const length = isRow ? 1 : Number(count && constantOf(t, count));
  const at = asNumber(t, place);
  const lowest = isRow ? -size : 0;
  const run = (body: () => Tensor): Tensor => t.runApi(() => noGrad(body));
  const { ge, le, eq, trunc, logicalAnd, lt, add } = pointwise;
  check(
    t,
    run(() => logicalAnd(logicalAnd(ge(at, lowest), le(at, size - length)), eq(at, trunc(at)))),
    true,
  );
  const index = run(() => {
    const first = reshape(where(lt(at, 0), add(at, size), at), [1]);
    if (length === 1) return cast(first, 'int32');
    const offsets = deviceGuard(at.device, () => arange(0, length, 1, { dtype: 'float64' }));
    return cast(add(offsets, first), 'int32');
  });
  const rows = t.runApi(() => indexSelect(tensor, axis, index));
  const result = t.result(isRow ? t.runApi(() => squeeze(rows, axis)) : rows);
  t.control.copied.note(t.builder, [tensor, result.traced!]);
  return result;
}
