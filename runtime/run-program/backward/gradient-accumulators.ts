import { contiguousMeta, type TensorMeta } from '../../device/tensor-meta.ts';
import { addOp } from '../../ops/arithmetic/arithmetic.ts';
import type { OpRecord } from '../../ops/record/define-op.ts';
import { aliasOp } from '../../program/alias-op.ts';
import { earlierSum } from '../../program/optional-gradients.ts';
import type { BackwardPart, Plan, Step } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import { sumOperand } from '../control/sum-operands.ts';

/** A gradient with several contributions that can continue from a sum by other nodes. */
interface GradientAccumulator {
  /** The partial sums in the program, in order. */
  readonly sums: readonly ValueId[];
  /** The earlier sum, and its sum with the first contribution. */
  readonly earlier: ValueId;
  readonly first: ValueId;
}

/** A target whose gradient can continue from an earlier sum. */
export interface ContinuedTarget {
  readonly target: number;
  readonly sum: GradientAccumulator;
}

/** Returns the targets with several contributions, and a value table extended by their additional values. */
export function continuedTargets(
  { gradInputs, sums }: BackwardPart,
  values: ValueTable,
): { readonly targets: readonly ContinuedTarget[]; readonly values: ValueTable } {
  const all: TensorMeta[] = [...values];
  const targets = gradInputs.flatMap((id, target) => {
    if (id === null || sums[target]!.length === 0) return [];
    const meta = contiguousMeta(values[id]!, values[id]!.device);
    const [earlier, first] = [all.push(meta) - 1, all.push(meta) - 1] as [ValueId, ValueId];
    return [{ target, sum: { sums: sums[target]!, earlier, first } }];
  });
  return { targets, values: all };
}

/** Plans derived from a plan, by the targets whose sums continue earlier ones. */
const known = new WeakMap<Plan, Map<string, Plan>>();

/**
 * In: a backward plan. Out: the plan with sums that continue from earlier ones, contribution by contribution, as in
 * eager backward. Adding the program's own total to the earlier sum would round differently. Derived once.
 */
export function continueSums(plan: Plan, targets: readonly ContinuedTarget[]): Plan {
  if (targets.length === 0) return plan;
  let ofPlan = known.get(plan);
  if (!ofPlan) {
    ofPlan = new Map();
    known.set(plan, ofPlan);
  }
  const key = targets.map(({ target }) => target).join();
  let continued = ofPlan.get(key);
  if (!continued) {
    let steps: readonly Step[] = plan.steps;
    for (const { sum } of targets) steps = continueSum(steps, sum);
    continued = { ...plan, steps };
    ofPlan.set(key, continued);
  }
  return continued;
}

/** Makes the backward op of a branch or loop start from the earlier sum and add its contributions to it. */
function continueFromSum(
  step: Step,
  { sums, earlier, first }: GradientAccumulator,
): readonly Step[] {
  const { op, frees } = step;
  const to = op.attrs.to as readonly number[];
  const of = op.attrs.of as readonly number[];
  const number = sumOperand(step, to[op.outputs.findIndex((id) => sums.includes(id))]!);
  const position = of.indexOf(number) + 1;
  if (position === 0) {
    const attrs = { ...op.attrs, of: [...of, number] };
    const inputs = [...op.inputs, earlier];
    return [{ ...step, op: { ...op, attrs, inputs }, frees: [...frees, earlier] }];
  }
  // Another contribution comes first.
  const part = op.inputs[position]!;
  const diesHere = frees.includes(part) && op.inputs.filter((id) => id === part).length === 1;
  const start: Step = {
    op: {
      op: addOp,
      inputs: [earlier, part],
      outputs: [first],
      attrs: {},
      recordsGrad: false,
      at: op.at,
    },
    reuses: [null],
    frees: diesHere ? [earlier, part] : [earlier],
  };
  const inputs = op.inputs.map((id, i) => (i === position ? first : id));
  const rest = frees.filter((id) => !diesHere || id !== part);
  return [start, { ...step, op: { ...op, inputs }, frees: [...rest, first] }];
}

/** Gradients of empty tensors are summed like lists, because the specs are the same. */
const isListOp = ({ kernel }: OpRecord): boolean =>
  kernel.kind === 'control' && kernel.form === 'list';

function continueSum(steps: readonly Step[], sum: GradientAccumulator): readonly Step[] {
  const { sums, earlier, first } = sum;
  const isSum = ({ op }: Step): boolean => op.outputs.some((id) => sums.includes(id));
  const at = steps.findIndex(isSum);
  const step = steps[at]!;
  const { op, frees } = step;
  const [before, after] = [steps.slice(0, at), steps.slice(at + 1)];
  if (op.op === earlierSum) {
    const inputs = [earlier];
    const there = { ...step, op: { ...op, op: aliasOp, inputs }, frees: [...frees, earlier] };
    return [...before, there, ...after];
  }
  if (step.regions && !isListOp(op.op)) return [...before, ...continueFromSum(step, sum), ...after];
  const [part, next] = op.inputs as readonly [ValueId, ValueId | undefined];
  if (next === undefined) {
    // The other contributions are missing, so the sum was reduced to a single contribution.
    const inputs = [earlier, part];
    const whole = { ...step, op: { ...op, op: addOp, inputs }, frees: [...frees, earlier] };
    return [...before, whole, ...after];
  }
  const diesHere = frees.includes(part) && part !== next;
  const start: Step = {
    op: { ...op, inputs: [earlier, part], outputs: [first] },
    reuses: [null],
    ...(step.regions && { regions: step.regions }),
    frees: diesHere ? [earlier, part] : [earlier],
  };
  const rest: Step = {
    ...step,
    op: { ...op, inputs: [first, next] },
    reuses: step.reuses.map((id) => (id === part && part !== next ? first : id)),
    frees: [...frees.filter((id) => !diesHere || id !== part), first],
  };
  return [...before, start, rest, ...after];
}
