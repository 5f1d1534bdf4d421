import { formatSpec, isContiguousMeta, sameSpec } from '../../device/tensor-meta.ts';
import { earlierSum, nameGradientOp } from '../optional-gradients.ts';
import type { BackwardPart, Plan, PlannedSubgraph } from '../plan.ts';
import type { ProgramOp, ValueId } from '../program.ts';
import { reverify } from './reverify.ts';
import { SimulatedPlan } from './simulate-plan.ts';
import { type Fail, failureAt } from './verify-failure.ts';

/**
 * Verifies that a planned subgraph from a file only touches its own memory: every op infers the declared dtypes and
 * shapes, no value is read before it is defined or after it is freed, views lie in their bases, and arena spans don't
 * overlap. Throws DataError naming the step.
 *
 * It simulates the executor's steps with metas instead of data.
 */
export function verifySubgraph(planned: PlannedSubgraph, where: string): void {
  const { values, forward, backward } = planned;
  const live = new SimulatedPlan(planned, `${where}, forward`).run(
    forward,
    forward.inputs,
    new Map(),
  );
  reverify([forward], failureAt(`${where}, forward`));
  if (!backward) return;
  const { gradInputs, gradOutputs, leafOutputs, sums, arrivals } = backward;
  const { saved, plan, retainingPlan } = backward;
  const fail = failureAt(`${where}, backward`);
  const [results, operands] = [forward.outputs.length, forward.inputs.length];
  // A region may also continue from its operands' earlier gradient sums.
  const counts = [results, results + operands];
  if (
    gradInputs.length !== forward.inputs.length + leafOutputs.length ||
    sums.length !== gradInputs.length ||
    leafOutputs.some((index) => index >= forward.outputs.length) ||
    !counts.includes(gradOutputs.length)
  ) {
    fail(`${gradInputs.length} and ${gradOutputs.length} gradients`, 'one per input and output');
  }
  for (const { target, outputs } of arrivals) {
    if (target < gradInputs.length && outputs.every((index) => index < results)) continue;
    fail(
      `gradient ${target} of outputs ${outputs.join(', ')}`,
      'numbers of its gradients and outputs',
    );
  }
  const missing = saved.withData.find((id) => !live.has(id));
  if (missing !== undefined)
    fail(`saved %${missing}, which forward has freed`, 'a value that is kept');
  gradOutputs.forEach((id, i) => {
    const value = values[forward.outputs[i] ?? forward.inputs[i - results]!]!;
    if (id === null) return;
    if (!sameSpec(values[id]!, value) || !isContiguousMeta(values[id]!)) {
      fail(`gradient ${formatSpec(values[id]!)} for ${formatSpec(value)}`, 'the same');
    }
  });
  gradInputs.forEach((id, i) => {
    const leaf = leafOutputs[i - forward.inputs.length];
    const value = values[leaf === undefined ? forward.inputs[i]! : forward.outputs[leaf]!]!;
    if (id === null || sameSpec(values[id]!, value)) return;
    fail(`gradient ${formatSpec(values[id]!)} of an input ${formatSpec(value)}`, 'the same');
  });
  const entering = gradOutputs.filter((id) => id !== null);
  for (const each of [plan, retainingPlan]) {
    expectSums(each, backward, fail);
    reverify([forward, each], fail);
    const kept = new Map(saved.withData.map((id) => [id, live.get(id)!]));
    const left = new SimulatedPlan(planned, `${where}, backward`).run(each, entering, kept, live);
    const lost = gradInputs.find((id) => id !== null && !left.made.has(id));
    if (lost !== undefined)
      fail(`the gradient %${lost}, which is not there`, 'a value of the program');
    const gone = saved.withData.find((id) => each === retainingPlan && !left.has(id));
    if (gone !== undefined)
      fail(`%${gone} freed by the plan that retains it`, 'a value that is kept');
  }
}

/**
 * Expects the partial sums of each gradient to be sums. They may move between names at run time, so this only checks
 * that each is a sum, which is all that a run relies on.
 */
function expectSums({ steps }: Plan, { sums, gradInputs }: BackwardPart, fail: Fail): void {
  const adders = new Map(
    steps.flatMap(({ op, regions }) =>
      op.op.name === 'add' || op.op === earlierSum || regions ? operandsByOutput(op) : [],
    ),
  );
  const isNamed = steps.some(({ op }) => op.op === nameGradientOp);
  sums.forEach((ids, i) => {
    const isSum = (id: ValueId, at: number) =>
      adders.has(id) && (at === 0 || isNamed || adders.get(id)!.has(ids[at - 1]!));
    const isLast = isNamed ? gradInputs[i] !== null : ids.at(-1) === gradInputs[i];
    if (ids.length === 0 || (isLast && ids.every(isSum))) return;
    fail(`the parts ${ids.map((id) => `%${id}`).join(', ')}`, 'sums of the parts of a gradient');
  });
}

function operandsByOutput({ inputs, outputs }: ProgramOp): (readonly [ValueId, Set<ValueId>])[] {
  const operands = new Set(inputs);
  return outputs.map((id) => [id, operands] as const);
}
