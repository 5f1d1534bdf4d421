/** Numbers of a program as arguments of the tensor API: as operands, and as places in a tensor. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import { formatPosition } from '../../../runtime/errors/position.ts';
import { cast } from '../../../runtime/ops/cast.ts';
import { where } from '../../../runtime/ops/comparison.ts';
import * as inPlace from '../../../runtime/ops/in-place.ts';
import { indexSelect } from '../../../runtime/ops/indexing.ts';
import { narrow, reshape, select, squeeze } from '../../../runtime/ops/movement.ts';
import * as pointwise from '../../../runtime/ops/pointwise.ts';
import * as pointwiseInPlace from '../../../runtime/ops/pointwise-in-place.ts';
import { arange } from '../../../runtime/ops/ranges.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import type { ScalarVariable, TensorVariable, Variable } from '../variable.ts';
import { check } from './fork.ts';
import { asNumber, scalarOperand } from './scalars.ts';

const { prototype } = Tensor;

const methodNamed = (name: string): unknown =>
  Object.getOwnPropertyDescriptor(prototype, name)?.value;

/** Functions whose numbers are operands like tensors. */
const operandFunctions: ReadonlySet<unknown> = new Set<unknown>(
  [pointwise, inPlace, pointwiseInPlace]
    .flatMap((module) => Object.entries(module))
    .flatMap(([name, fn]) => [fn, methodNamed(name)]),
);

/** Numbers of the program meet a tensor as tensors of its dtype, which is what a host number becomes. */
export function scalarOperands(
  t: Tracer,
  fn: { readonly name: string },
  self: unknown,
  args: readonly Variable[],
): readonly Variable[] {
  const scalar = args.find((arg): arg is ScalarVariable => arg.kind === 'scalar');
  if (!scalar) return args;
  if (!operandFunctions.has(fn)) throw decidesShape(fn.name, scalar);
  const operands = [self, ...args.map((arg) => (arg.kind === 'tensor' ? t.use(arg) : null))];
  const tensor = operands.find((each): each is Tensor => each instanceof Tensor);
  return args.map((arg) => (arg.kind === 'scalar' ? scalarOperand(t, arg, tensor) : arg));
}

export function decidesShape(name: string, { at }: ScalarVariable): GraphBreak {
  const read = at ? ` (read at ${formatPosition(at)})` : '';
  return new GraphBreak(
    'control-flow',
    `a number of the graph${read} as an argument of ${name}, which decides a shape or a mode by it`,
  );
}

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
