/** Creates unions, and specializes their tags. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { where } from '../../../../runtime/ops/pointwise/comparison.ts';
import { eq, logicalOr } from '../../../../runtime/ops/pointwise/pointwise.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  type DeviceScalar,
  known,
  type UnionTag,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import { constantTensor } from '../numbers/scalars.ts';

/** Specializes the union on this path. Rolled back with the path. */
export function narrow(t: Tracer, selector: UnionTag, chosen: number): void {
  t.journal.set(selector, 'chosen', chosen);
}

/** Returns a boolean that is true for some of the options. */
export function selectedBy(t: Tracer, selector: UnionTag, holds: readonly boolean[]): Variable {
  if (holds.every((each) => each === holds[0])) return known(holds[0]!);
  const { tensor: which } = selector.which;
  const indices = holds.flatMap((each, i) => (each ? [i] : []));
  const tensor = t.runApi(() =>
    noGrad(() => indices.map((i): Tensor => eq(which, i)).reduce((a, b) => logicalOr(a, b))),
  );
  return { kind: 'scalar', type: 'boolean', tensor, tells: { selector, holds } };
}

/** Specializes a union after a decision on the scalar, if only one option remains. */
export function specializeByTag(t: Tracer, { tells }: DeviceScalar, value: boolean): void {
  if (!tells) return;
  const left = tells.holds.flatMap((each, i) => (each === value ? [i] : []));
  if (left.length === 1) narrow(t, tells.selector, left[0]!);
}

/** Returns one of `options` by a data-dependent index. An index out of range selects the last option. */
export function chosenBy(
  t: Tracer,
  index: Tensor,
  options: readonly Variable[],
  from: string,
): UnionVariable {
  const numbers = options.map((_, i) => constantTensor(t, i, index.device));
  const which = t.runApi(() =>
    noGrad(() => numbers.reduceRight((rest, number, i) => where(eq(index, i), number, rest))),
  );
  const selector: UnionTag = {
    which: { kind: 'scalar', type: 'number', tensor: which },
    chosen: options.length === 1 ? 0 : null,
  };
  return { kind: 'union', selector, options, from };
}
