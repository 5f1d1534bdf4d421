import type { Launch } from '../device/device.ts';
import { Holder } from '../device/holder.ts';
import { isContiguousMeta } from '../device/tensor-meta.ts';
import { events } from '../memory/events.ts';
import { copy } from '../ops/core/copy.ts';
import { acceptsMissing, isGradientSum, optionalOperands } from '../program/optional-gradients.ts';
import { outputGradientOp } from '../program/output-gradient-op.ts';
import type { Step } from '../program/plan.ts';
import type { ValueId, ValueTable } from '../program/program.ts';
import { sizeOf } from '../spec/shape.ts';
import type { Action } from './scope/action.ts';
import type { Slot } from './scope/scope.ts';

/**
 * Returns the action of a step with optional operands: it is skipped if one is missing, except that a sum is then
 * its other term.
 */
export function skipIfMissing(
  step: Step,
  values: ValueTable,
  optional: ReadonlySet<ValueId>,
  run: Action,
): Action {
  const { op } = step;
  const needed = acceptsMissing(op.op) ? [] : optionalOperands(op, optional);
  // An output may be a list without any element gradients.
  if (op.op === outputGradientOp) needed.push(...op.inputs);
  if (needed.length === 0) return run;
  if (isGradientSum(op.op)) return sumOfTheRest(step, values, run);
  return (slots, scalars) => {
    for (let i = 0; i < needed.length; i++) if (!slots[needed[i]!]!.holder) return;
    run(slots, scalars);
  };
}

/** Whether a sum may take the memory of a term that dies in it, if nothing else refers to that memory. */
function mayForwardMemory({ op, frees }: Step, part: ValueId, values: ValueTable): boolean {
  const meta = values[part]!;
  return (
    frees.includes(part) && meta.offset === 0 && isContiguousMeta(meta) && !hasTwice(op.inputs)
  );
}

function hasTwice(ids: readonly ValueId[]): boolean {
  return new Set(ids).size < ids.length;
}

function sumOfTheRest(step: Step, values: ValueTable, run: Action): Action {
  const [a, b] = step.op.inputs as [ValueId, ValueId];
  const [result] = step.op.outputs as [ValueId];
  const passers = new Map([a, b].map((id) => [id, memoryForwarder(step, id, values)]));
  return (slots, scalars) => {
    const [one, other] = [slots[a]!.holder, slots[b]!.holder];
    if (one && other) run(slots, scalars);
    else if (one || other) passers.get(one ? a : b)!(slots[one ? a : b]!, slots[result]!);
  };
}

/** Moves the memory if nothing else refers to it, else copies it, because the plan may overwrite the sum. */
function memoryForwarder(
  step: Step,
  part: ValueId,
  values: ValueTable,
): (from: Slot, to: Slot) => void {
  const meta = values[step.op.outputs[0]!]!;
  const mayPass = mayForwardMemory(step, part, values);
  const bytes = sizeOf(meta.shape) * meta.device.elementBytes(meta.dtype);
  let launch: Launch | null = null;
  return (from, to) => {
    const holder = from.holder!;
    if (mayPass && holder.owners === 1) {
      to.put(holder.retain(), from.offset);
      return;
    }
    launch ??= meta.device.prepare(copy, [values[part]!], [meta], {});
    to.put(new Holder(meta.device, bytes), 0);
    launch([from], [to]);
    events.kernel(meta.device.name, copy.name);
  };
}
