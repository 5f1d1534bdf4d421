import { operandUse } from '../../device/kernel-op.ts';
import { copy } from '../../ops/core/copy.ts';
import { fullOp } from '../../ops/movement/create.ts';
import { earlierSum, isGradientSum } from '../../program/optional-gradients.ts';
import { outputGradientOp } from '../../program/output-gradient-op.ts';
import type { BackwardPart, Plan, Step } from '../../program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../program/program.ts';
import type { RequestedGradients } from '../../tensor/grad-node.ts';
import { sumOperand } from '../control/sum-operands.ts';

/** A backward in which some outputs have no gradient, or some gradients aren't requested. */
export interface PartialBackward {
  readonly plan: Plan;
  /** Gradients of the inputs as in BackwardPart; also null if no given gradient reaches them, or not requested. */
  readonly gradInputs: readonly (ValueId | null)[];
  /**
   * The values that the given gradients lead to, except sums of a leaf's contributions. Two backwards that share
   * one of these values run the backward of the same op twice.
   */
  readonly differentiated: ReadonlySet<ValueId>;
  /** The values whose data it reads or returns. */
  readonly reads: ReadonlySet<ValueId>;
}

/**
 * In: a backward plan, the missing gradients, and the requested ones (null: all). Out: a plan that, like eager
 * backward, skips ops that only missing gradients reach and ops that lead to no request. Treating missing gradients as
 * zeros would be wrong: 0 · ∞ is NaN, −0 + 0 is 0, and a leaf would get a gradient of zeros.
 *
 * A value that only missing gradients lead to is missing too. A sum with a missing term is its other term. A
 * control op handles missing gradients itself; any other op that needs one gets zeros, as its rule does in eager
 * execution.
 */
export function partialBackward(
  { gradOutputs, gradInputs: all, sums }: BackwardPart,
  plan: Plan,
  values: ValueTable,
  missing: ReadonlySet<ValueId>,
  requested: RequestedGradients | null,
): PartialBackward {
  const absent = new Set(missing);
  /** The values that any gradient leads to. */
  const derived = new Set<ValueId>(gradOutputs.filter((id) => id !== null));
  /** Values whose last use was in an omitted step. */
  const dead: ValueId[] = [];
  const unchanged = new Set<ValueId>();
  const steps = reachedSteps(plan.steps, values, absent, derived, unchanged, dead);
  const gradInputs = all.map((id, i) => {
    return id !== null && !unchanged.has(id) && (!requested || requested.targets[i]) ? id : null;
  });
  const outputs = plan.outputs.filter(
    (id) => !absent.has(id) && !unchanged.has(id) && (!requested || gradInputs.includes(id)),
  );
  const needed = neededFor(steps, outputs, requested);
  const live = withoutDeadSteps(steps, needed, requested !== null, absent, dead);
  // No other gradient leaves the scope.
  dead.push(...plan.outputs.filter((id) => derived.has(id) && !outputs.includes(id)));
  const only = requested && sumsAt(requested, live, outputs, gradOutputs);
  const isNeeded = (id: ValueId) => !only || (needed.has(id) && !only.has(id));
  const ofLeaves = new Set(sums.flat());
  const given = gradOutputs.filter(
    (id): id is ValueId => id !== null && !missing.has(id) && isNeeded(id),
  );
  const isDerived = (id: ValueId) => derived.has(id) && !absent.has(id) && isNeeded(id);
  const differentiated = new Set([
    ...given,
    ...live.flatMap(({ op: { op, outputs } }) => {
      const isSum = isGradientSum(op) || op === earlierSum;
      const differentiatesMore = op.kernel.kind === 'control' && !isSum;
      return outputs.filter((id) => isDerived(id) && (differentiatesMore || !ofLeaves.has(id)));
    }),
  ]);
  const isThere = (id: ValueId): boolean => !absent.has(id);
  const freesAtEnd = [...plan.freesAtEnd, ...dead].filter(isThere);
  return {
    plan: { ...plan, steps: live, outputs, freesAtEnd },
    gradInputs: gradInputs.map((id) => (id !== null && isThere(id) ? id : null)),
    differentiated,
    reads: new Set([
      ...outputs,
      ...live.flatMap(({ op: { op, inputs } }) =>
        inputs.filter((_, i) => operandUse(op, i) === 'data'),
      ),
    ]),
  };
}

/**
 * Returns the steps that present gradients reach, adapted to those that are missing. Adds to `derived` the values that
 * any gradient leads to, to `absent` those that become missing, to `unchanged` earlier sums that no present gradient
 * changes, and to `dead` those freed by omitted steps at the end.
 */
function reachedSteps(
  all: readonly Step[],
  values: ValueTable,
  absent: Set<ValueId>,
  derived: Set<ValueId>,
  unchanged: Set<ValueId>,
  dead: ValueId[],
): readonly Step[] {
  const steps: Step[] = [];
  const keep = (step: Step): void => {
    const frees = [...step.frees, ...dead].filter((id) => !absent.has(id));
    steps.push({ ...step, frees });
    dead.length = 0;
  };
  const keepSum = (step: Step, from: ValueId): void => {
    keep(passOn(step, from));
    if (unchanged.has(from)) unchanged.add(step.op.outputs[0]!);
  };
  for (const step of all) {
    const { inputs, outputs, op } = step.op;
    const gradients = inputs.filter((id) => derived.has(id));
    if (gradients.length > 0 || op === earlierSum) for (const id of outputs) derived.add(id);
    if (op === earlierSum) unchanged.add(outputs[0]!);
    const given = gradients.filter((id) => !absent.has(id));
    const earlier = earlierSums(step);
    const isOfResult = (id: ValueId, i: number) => given.includes(id) && !earlier.has(i);
    if (given.length > 0 && !inputs.some(isOfResult)) {
      // No result of the op is differentiated, so the earlier sum passes through unchanged.
      const frees = new Set(step.frees);
      for (const id of outputs) absent.add(id);
      for (const [operand, sum] of earlier) {
        const from = inputs[operand]!;
        if (!given.includes(from)) continue;
        const op = { ...step.op, outputs: [sum] };
        absent.delete(sum);
        keepSum({ op, reuses: [], frees: frees.delete(from) ? [from] : [] }, from);
      }
      dead.push(...frees);
    } else if (given.length === gradients.length) keep(step);
    else if (given.length === 0) {
      for (const id of outputs) absent.add(id);
      dead.push(...step.frees);
    } else if (op.name === 'add' && given.length === 1) {
      keepSum(step, given[0]!);
    } else if (op.kernel.kind === 'control') keep(withoutSums(step, absent));
    else {
      for (const id of gradients) if (absent.delete(id)) steps.push(zerosFor(step.op, id, values));
      keep(step);
    }
  }
  return steps;
}

/**
 * Returns the sums that only accumulate requested gradients of results; the ops that computed those results are
 * not differentiated.
 */
function sumsAt(
  requested: RequestedGradients,
  live: readonly Step[],
  outputs: readonly ValueId[],
  gradOutputs: BackwardPart['gradOutputs'],
): ReadonlySet<ValueId> {
  const read = new Set([...outputs, ...live.flatMap(({ op }) => op.inputs)]);
  const sums = new Set<ValueId>();
  for (const { op } of live.toReversed()) {
    const [id] = op.outputs as readonly [ValueId];
    const numbers = numbersOf(op);
    if (numbers.some((index) => requested.outputs.has(index)) && !read.has(id)) {
      for (const index of numbers) sums.add(gradOutputs[index]!);
    } else if (!sums.has(id) || (op.op.name !== 'add' && op.op !== copy)) continue;
    for (const each of [id, ...op.inputs]) sums.add(each);
  }
  return sums;
}

/** Returns the indices of the outputs that lead to requested gradients. */
export function leadingOutputs(
  { gradOutputs, gradInputs, plan }: BackwardPart,
  requested: RequestedGradients,
): ReadonlySet<number> {
  const targets = gradInputs.filter((id, i): id is ValueId => id !== null && requested.targets[i]!);
  const needed = neededFor(plan.steps, targets, requested);
  return new Set([...gradOutputs.keys()].filter((i) => needed.has(gradOutputs[i]!)));
}

/** Returns the indices of the outputs whose gradient is complete here. */
function numbersOf({ op, attrs }: ProgramOp): readonly number[] {
  return op === outputGradientOp ? (attrs.outputs as readonly number[]) : [];
}

/** Whether the step completes the gradient of an output that leads to no target. */
export function isUnreadGradient({ op, frees }: Step): boolean {
  return op.op === outputGradientOp && frees.includes(op.outputs[0]!);
}

/**
 * Whether the step can be omitted if its results aren't needed. If all gradients are requested, control ops are kept,
 * except earlier sums, and so are gradients of outputs, which hooks receive.
 */
function isPure({ op: { op, outputs } }: Step, isLimited: boolean): boolean {
  const isKept = (op.kernel.kind === 'control' && op !== earlierSum) || op === outputGradientOp;
  return outputs.length > 0 && (isLimited || !isKept);
}

/** Returns `outputs`, the requested gradients of results, and the values they are computed from. */
function neededFor(
  steps: readonly Step[],
  outputs: readonly ValueId[],
  requested: RequestedGradients | null,
): ReadonlySet<ValueId> {
  const needed = new Set(outputs);
  for (const step of steps.toReversed()) {
    const { op } = step;
    if (numbersOf(op).some((index) => requested?.outputs.has(index))) needed.add(op.outputs[0]!);
    if (isPure(step, requested !== null) && !op.outputs.some((id) => needed.has(id))) continue;
    for (const id of op.inputs) needed.add(id);
  }
  return needed;
}

/**
 * Removes steps whose results only omitted steps read: they might read forward values that have been overwritten. Their
 * results become `absent`; values freed by the last ones are added to `dead`.
 */
function withoutDeadSteps(
  steps: readonly Step[],
  needed: ReadonlySet<ValueId>,
  isLimited: boolean,
  absent: Set<ValueId>,
  dead: ValueId[],
): readonly Step[] {
  const isLive = steps.map(
    (step) => !isPure(step, isLimited) || step.op.outputs.some((id) => needed.has(id)),
  );
  steps.forEach(({ op }, i) => {
    if (!isLive[i]) for (const id of op.outputs) absent.add(id);
  });
  if (!isLive.includes(false)) return steps;
  const isThere = (id: ValueId) => !absent.has(id);
  let freed: ValueId[] = [];
  const live: Step[] = [];
  steps.forEach((step, i) => {
    freed.push(...step.frees.filter(isThere));
    if (!isLive[i]) return;
    live.push({ ...step, frees: freed });
    freed = [];
  });
  dead.unshift(...freed);
  return live;
}

/**
 * Maps the operands that are earlier sums to the results that continue them, for the backward op of a branch or
 * loop. The same value may be the gradient of a result, too.
 */
function earlierSums(step: Step): ReadonlyMap<number, ValueId> {
  const { op, regions } = step;
  if (!regions || !op.op.name.endsWith('Backward')) return none;
  const of = op.attrs.of as readonly number[];
  const to = op.attrs.to as readonly number[];
  return new Map(
    to.flatMap((operand, k) => {
      const position = of.indexOf(sumOperand(step, operand));
      return position < 0 ? [] : [[position + 1, op.outputs[k]!]];
    }),
  );
}

/** Drops missing earlier sums from a control op's operands. */
function withoutSums(step: Step, absent: ReadonlySet<ValueId>): Step {
  const { op } = step;
  const sums = [...earlierSums(step).keys()].filter((i) => absent.has(op.inputs[i]!));
  if (sums.length === 0) return step;
  const isThere = (operand: number) => !sums.includes(operand);
  const of = (op.attrs.of as readonly number[]).filter((_, i) => isThere(i + 1));
  const inputs = op.inputs.filter((_, i) => isThere(i));
  return { ...step, op: { ...op, inputs, attrs: { ...op.attrs, of } } };
}

const none: ReadonlyMap<number, ValueId> = new Map();

/** Replaces a sum with a copy of its one term: the plan may overwrite the sum while the term still has readers. */
function passOn(step: Step, from: ValueId): Step {
  return { ...step, op: { ...step.op, op: copy, inputs: [from], attrs: {} }, reuses: [null] };
}

function zerosFor(user: ProgramOp, id: ValueId, values: ValueTable): Step {
  const { shape, dtype } = values[id]!;
  const attrs = { shape, dtype, value: 0 };
  return {
    op: { op: fullOp, inputs: [], outputs: [id], attrs, recordsGrad: false, at: user.at },
    reuses: [null],
    frees: [],
  };
}
