/** Device scalars as positions and counts in the arguments of array methods. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { clamp } from '../../../runtime/ops/pointwise/combining.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { add, eq, lt, trunc } from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { growableIn } from '../control-flow/lists/growable-array.ts';
import { asNumber } from '../control-flow/numbers/scalars.ts';
import type { Tracer } from '../state/tracer.ts';
import { arrayLength, asArray } from '../values/arrays.ts';
import { unionOfIndex } from '../values/element-at.ts';
import { specialized } from '../variables/unions.ts';
import type { DeviceScalar, Variable } from '../variables/variable.ts';

/**
 * The role of an argument. Positions count from the end if negative; positions and counts are clamped to the
 * length.
 */
type Counted = 'place' | 'count' | null;

const { splice, toSpliced, slice, fill, copyWithin, indexOf, includes } = Array.prototype;

/** Argument roles of methods that take positions or counts. */
const counting = new Map<unknown, readonly Counted[]>([
  [splice, ['place', 'count']],
  [toSpliced, ['place', 'count']],
  [slice, ['place', 'place']],
  [fill, [null, 'place', 'place']],
  [copyWithin, ['place', 'place', 'place']],
  [indexOf, [null, 'place']],
  [includes, [null, 'place']],
]);

/**
 * Returns the arguments with known positions and counts, for an array of known length. Throws UnionMet for a device
 * scalar: the call is then traced for each possible value.
 */
export function withKnownPlaces(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): readonly Variable[] {
  const counted = counting.get(fn);
  if (!counted || !args.some((arg, i) => counted[i] && arg.kind === 'scalar')) return args;
  const array = asArray(t, receiver);
  if (!array || growableIn(t, receiver)) return args;
  const length = arrayLength(t, array);
  return args.map((arg, i) => {
    const what = counted[i];
    if (!what || arg.kind !== 'scalar') return arg;
    return specialized(unionOfIndex(t, length + 1, limited(t, arg, what, length)));
  });
}

function limited(
  t: Tracer,
  number: DeviceScalar,
  what: 'place' | 'count',
  length: number,
): DeviceScalar {
  const known = limits.get(number) ?? new Map<string, DeviceScalar>();
  limits.set(number, known);
  const key = `${what} ${length}`;
  const existing = known.get(key);
  if (existing) return existing;
  const x = asNumber(t, number);
  const tensor = t.runApi(() => noGrad(() => within(x, what, length)));
  const scalar = { kind: 'scalar', type: 'number', tensor } as const;
  // The scalar is valid only in the branch or loop that computed it.
  t.journal.note(() => known.delete(key));
  known.set(key, scalar);
  return scalar;
}

function within(x: Tensor, what: 'place' | 'count', length: number): Tensor {
  // NaN is converted to 0.
  const whole = trunc(where(eq(x, x), x, 0));
  const place = what === 'place' ? where(lt(whole, 0), add(whole, length), whole) : whole;
  return clamp(place, 0, length);
}

/** Clamped numbers by original: paths that depend on one number see the same union. */
const limits = new WeakMap<DeviceScalar, Map<string, DeviceScalar>>();
