/** Clamping by device scalars. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import * as inPlace from '../../../../runtime/ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../../../../runtime/ops/in-place/pointwise-in-place.ts';
import * as pointwise from '../../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { resolved } from '../../variables/unions.ts';
import { known, type TensorVariable, type Variable } from '../../variables/variable.ts';
import { methodNamed } from './scalar-arguments.ts';
import { scalarOperand } from './scalars.ts';

type Bound = Tensor | number | null;

interface Clamping {
  readonly writes: boolean;
  /** The bounds among the arguments after the tensor. */
  readonly bounds: (args: readonly Variable[]) => readonly (Variable | undefined)[];
}

const both: Clamping['bounds'] = ([min, max]) => [min, max];
const lower: Clamping['bounds'] = ([min]) => [min, undefined];
const upper: Clamping['bounds'] = ([max]) => [undefined, max];

/** Functions and methods. */
const clampings = new Map<unknown, Clamping>(
  (
    [
      [pointwise.clamp, both, ['clamp', 'clip']],
      [pointwise.clampMin, lower, ['clampMin']],
      [pointwise.clampMax, upper, ['clampMax']],
      [pointwiseInPlace.clamp_, both, ['clamp_']],
      [pointwiseInPlace.clampMin_, lower, ['clampMin_']],
      [pointwiseInPlace.clampMax_, upper, ['clampMax_']],
    ] as const
  ).flatMap(([fn, bounds, names]) =>
    [fn, ...names.map(methodNamed)].map((each): [unknown, Clamping] => [
      each,
      { writes: names[0].endsWith('_'), bounds },
    ]),
  ),
);

/** `x.clamp(a, b)` and similar calls with device scalars; undefined for other calls. */
export function clampedByScalars(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): TensorVariable | undefined {
  const clamping = clampings.get(fn);
  if (!clamping) return undefined;
  const [target, ...rest] = receiver.kind === 'tensor' ? [receiver, ...args] : args;
  const bounds = clamping.bounds(rest).map((bound = known(null)) => resolved(bound));
  if (target?.kind !== 'tensor' || !bounds.some(({ kind }) => kind === 'scalar')) return undefined;
  if (bounds.some(({ kind }) => kind === 'tensor')) return undefined;
  const x = t.use(target);
  if (clamping.writes) t.control.copied.expectNone(t.surroundings, x);
  const operands = bounds.map((bound) =>
    bound.kind === 'scalar'
      ? t.use(scalarOperand(t, bound, x))
      : ((constantOf(t, bound) ?? null) as number | null),
  );
  return t.result(
    t.perform<Tensor>([x, ...operands], ([from, min, max]) => {
      const clamped = clampBetween(from as Tensor, min as Bound, max as Bound);
      return clamping.writes ? inPlace.copy_(from as Tensor, clamped) : clamped;
    }),
  );
}

/** Clamps by numbers that are tensors of the program: as with numbers, no gradient passes at the bounds. */
function clampBetween(x: Tensor, min: Bound, max: Bound): Tensor {
  const [bounded, isWithin] = noGrad(() => {
    const isOff = (bound: NonNullable<Bound>) => pointwise.ne(pointwise.sub(x, bound), 0);
    const tests = [
      ...(min === null ? [] : [pointwise.ge(x, min), isOff(min)]),
      ...(max === null ? [] : [pointwise.le(x, max), isOff(max)]),
    ];
    return [pointwise.clamp(x, min, max), tests.reduce(pointwise.logicalAnd)];
  });
  return pointwise.where(isWithin, x, bounded);
}
