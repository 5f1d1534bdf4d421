/** Inner outputs: outputs of a program that its other outputs depend on, in backward. */

import { noGrad } from '../autograd/grad-mode.ts';
import { ownsWholeHolder } from '../autograd/owned-memory.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import { bind1 } from '../ops/core/bind.ts';
import { copy } from '../ops/core/copy.ts';
import { permute } from '../ops/movement/movement.ts';
import { outputGradientOp } from '../program/output-gradient-op.ts';
import type { Plan, Step } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import { keep, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { isUnreadGradient } from './backward/partial-backward.ts';

/**
 * Returns a handle to the same elements in exclusive memory with the planned layout, because the program may
 * overwrite it and a hook may have kept the gradient. Consumes the given handle.
 */
export function asPlanned(gradient: Tensor, { strides }: TensorMeta): Tensor {
  const order = [...strides.keys()].sort((a, b) => strides[b]! - strides[a]!);
  const isInOrder = order.every((dim, i) => dim === i);
  if (isInOrder && ownsWholeHolder(gradient)) return gradient;
  const back = order.map((_, dim) => order.indexOf(dim));
  try {
    // A contiguous copy of the permuted tensor has the planned layout.
    return tidy(() => noGrad(() => keep(permute(bind1(copy, [permute(gradient, order)]), back))));
  } finally {
    gradient.dispose();
  }
}

interface OutputGradient {
  readonly id: ValueId;
  readonly numbers: readonly number[];
  /** False if it leads to no target, and only hooks observe it. */
  readonly isRead: boolean;
}

/** Part of a backward plan, and the output gradient that is complete after it; null for the last part. */
interface PlanPart {
  readonly part: Plan;
  readonly output: OutputGradient | null;
}

const inner = new WeakMap<Plan, ReadonlySet<number> | null>();
const parts = new WeakMap<Plan, readonly PlanPart[]>();

/** Returns the indices of these outputs; null if there are none. */
export function innerOutputsOf(plan: Plan): ReadonlySet<number> | null {
  let known = inner.get(plan);
  if (known === undefined) {
    const numbers = plan.steps.flatMap((step) => numbersOf(step) ?? []);
    known = numbers.length > 0 ? new Set(numbers) : null;
    inner.set(plan, known);
  }
  return known;
}

/** Returns the plan cut after every complete output gradient. */
export function partsAtOutputs(plan: Plan): readonly PlanPart[] {
  let known = parts.get(plan);
  if (!known) {
    known = cut(plan);
    parts.set(plan, known);
  }
  return known;
}

function cut(plan: Plan): readonly PlanPart[] {
  const found: PlanPart[] = [];
  // No value lies in a reserved block, which would be freed at the end of each part.
  const partOf = (steps: readonly Step[]): Plan => ({
    ...plan,
    arenaBytes: 0,
    steps: steps.map(({ places: _places, ...step }) => step),
  });
  let from = 0;
  plan.steps.forEach((step, i) => {
    const numbers = numbersOf(step);
    if (!numbers) return;
    const id = step.op.outputs[0]!;
    const isRead = !isUnreadGradient(step);
    // The executor would free a value without a reader before the hooks receive it.
    const last = isRead ? step : { ...step, frees: step.frees.filter((each) => each !== id) };
    const part = partOf([...plan.steps.slice(from, i), last]);
    found.push({ part, output: { id, numbers, isRead } });
    from = i + 1;
  });
  return [...found, { part: partOf(plan.steps.slice(from)), output: null }];
}

function numbersOf({ op }: Step): readonly number[] | null {
  return op.op === outputGradientOp ? (op.attrs.outputs as readonly number[]) : null;
}
