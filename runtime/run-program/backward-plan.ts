import { synchronous } from '../program/backend.ts';
import { isGradientSum, optionalGradientsOf } from '../program/optional-gradients.ts';
import type { BackwardPart, Plan } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { PassOutput, TakeSum } from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { continueSums } from './backward/gradient-accumulators.ts';
import { enterDynamic, isDynamic } from './dynamic-outputs.ts';
import { enter } from './enter.ts';
import { Executable } from './executor.ts';
import { asPlanned, partsAtOutputs } from './inner-outputs.ts';
import type { Subgraph } from './run-program.ts';
import type { Scope } from './scope/scope.ts';

/** A run of a subgraph, whose scope holds the saved values. */
interface ForwardRun {
  readonly subgraph: Subgraph;
  readonly scope: Scope;
  readonly backward: BackwardPart;
}

/** The values that are the gradients of the node's targets. */
type GradInputs = BackwardPart['gradInputs'];

/** Gradients by output index. */
type GradOutputs = readonly (Tensor | null | undefined)[];

/** The backward programs of subgraphs, each bound at its first backward. */
const executables = new WeakMap<object, Executable>();

/**
 * Runs a backward plan in the scope of its forward and returns the gradients of the targets. Takes ownership of
 * `gradOutputs`. With `passInner`, gradients of outputs that the program itself reads pass through their hooks.
 */
export function runBackwardPlan(
  run: ForwardRun,
  plan: Plan,
  gradInputs: GradInputs,
  gradOutputs: GradOutputs,
  passInner: PassOutput | null,
): (Tensor | null)[] {
  enterGradients(run, plan, gradOutputs);
  if (passInner) runInParts(run, plan, passInner);
  else executableOf(run, plan).run(run.scope);
  return takeGradients(run, plan, gradInputs);
}

/** Runs a plan that contains transfers from a GPU, and awaits them. */
export async function awaitBackwardPlan(
  run: ForwardRun,
  plan: Plan,
  gradInputs: GradInputs,
  gradOutputs: GradOutputs,
): Promise<(Tensor | null)[]> {
  enterGradients(run, plan, gradOutputs);
  await executableOf(run, plan).runAwaiting(run.scope);
  return takeGradients(run, plan, gradInputs);
}

/** Puts the targets' earlier gradient sums into the scope and returns the plan that continues from them. */
export function continuedPlan(
  { subgraph, scope }: ForwardRun,
  plan: Plan,
  gradInputs: GradInputs,
  takeSum: TakeSum,
): Plan {
  const going = subgraph.continuedSums.filter(({ target, sum }) => {
    const earlier = gradInputs[target] === null ? null : takeSum(target);
    if (!earlier) return false;
    enter(scope.slots[sum.earlier]!, earlier, subgraph.values[sum.earlier]!);
    earlier.dispose();
    return true;
  });
  return continueSums(plan, going);
}

function enterGradients(run: ForwardRun, plan: Plan, gradOutputs: GradOutputs): void {
  const { slots } = run.scope;
  run.backward.gradOutputs.forEach((id, i) => {
    const gradient = gradOutputs[i];
    if (id === null || !gradient || plan.unusedInputs.includes(id)) return;
    const meta = run.subgraph.values[id]!;
    if (isDynamic(meta, gradient)) enterDynamic(slots[id]!, gradient);
    else enter(slots[id]!, gradient, meta);
    // The scope is now the only owner, so the gradient dies at its last use in the program.
    gradient.dispose();
  });
}

function takeGradients(run: ForwardRun, plan: Plan, gradInputs: GradInputs): (Tensor | null)[] {
  const { slots } = run.scope;
  // Also null if the run's path produces no gradient.
  const results = gradInputs.map((id) =>
    id === null || !slots[id]!.holder ? null : run.subgraph.take(slots, id),
  );
  for (const id of plan.freesAtEnd) slots[id]!.release();
  return results;
}

/** Runs backward in parts; between two parts, an output's gradient passes through its hooks. */
function runInParts(run: ForwardRun, plan: Plan, passInner: PassOutput): void {
  const { slots } = run.scope;
  for (const { part, output } of partsAtOutputs(plan)) {
    executableOf(run, part, plan).run(run.scope);
    if (!output) continue;
    const { id, numbers, isRead } = output;
    if (!slots[id]!.holder) continue;
    let gradient = run.subgraph.take(slots, id);
    slots[id]!.release();
    for (const index of numbers) gradient = passInner(index, gradient);
    if (!isRead) {
      gradient.dispose();
      continue;
    }
    const meta = run.subgraph.values[id]!;
    if (isDynamic(meta, gradient)) enterDynamic(slots[id]!, gradient);
    else {
      gradient = asPlanned(gradient, meta);
      slots[id]!.put(gradient.holder!.retain(), gradient.offset);
    }
    gradient.dispose();
  }
}

/** `whole` is the plan that this one is part of; gradients that enter the part may be missing. */
function executableOf(run: ForwardRun, plan: Plan, whole = plan): Executable {
  const existing = executables.get(plan);
  if (existing) return existing;
  const optional = whole === plan ? [] : optionalGradientsOf(whole.steps.map(({ op }) => op));
  const { values, planned } = run.subgraph;
  const backend = synchronous(planned.backend ?? null);
  const missing = [...optional, ...absentTerms(plan)];
  const executable = new Executable(plan, values, missing, { backend });
  executables.set(plan, executable);
  return executable;
}

/** Returns the terms of sums that only gradients of other results lead to. */
function absentTerms({ inputs, steps }: Plan): ValueId[] {
  const present = new Set(inputs);
  return steps.flatMap(({ op }) => {
    const absent = isGradientSum(op.op) ? op.inputs.filter((id) => !present.has(id)) : [];
    for (const id of op.outputs) present.add(id);
    return absent;
  });
}
