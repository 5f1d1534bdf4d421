/** Places of arrays and numbers of elements that a run decides, as arguments of methods. */

import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { clamp } from '../../../runtime/ops/pointwise/combining.ts';
import { where } from '../../../runtime/ops/pointwise/comparison.ts';
import { add, eq, lt, trunc } from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { grownIn } from '../control-flow/lists/growable-array.ts';
import { asNumber } from '../control-flow/numbers/scalars.ts';
import type { Tracer } from '../state/tracer.ts';
import { arrayLength, asArray } from '../values/arrays.ts';
import { unionOfIndex } from '../values/element-at.ts';
import { specialized } from '../variables/unions.ts';
import type { DeviceScalar, Variable } from '../variables/variable.ts';

/** A place is counted from the end where it is negative; both are limited to the length. */
type Counted = 'place' | 'count' | null;

const { splice, toSpliced, slice, fill, copyWithin, indexOf, includes } = Array.prototype;

/** The roles of the arguments of methods that count elements. */
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
 * The arguments, with places and counts of an array of known length that are known on each path. Throws UnionMet
 * where a run decides one: the call is followed for each that it may be.
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
  if (!array || grownIn(t, receiver)) return args;
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
  const made = { kind: 'scalar', type: 'number', tensor } as const;
  // It is a value of the branch or iteration that it is asked in.
  t.journal.note(() => known.delete(key));
  known.set(key, made);
  return made;
}

function within(x: Tensor, what: 'place' | 'count', length: number): Tensor {
  // NaN counts as 0.
  const whole = trunc(where(eq(x, x), x, 0));
  const place = what === 'place' ? where(lt(whole, 0), add(whole, length), whole) : whole;
  return clamp(place, 0, length);
}

/** The paths that follow from one number meet the same union. */
const limits = new WeakMap<DeviceScalar, Map<string, DeviceScalar>>();
