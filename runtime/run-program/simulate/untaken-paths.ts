/**
 * Simulated paths that no run takes: decisions are independent, so an op may read an element of an empty list, or a
 * call may receive shapes that it rejects. The results of such a step are estimated.
 */

import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { ListMark, TensorList } from '../../device/tensor-list.ts';
import type { GivenOperand } from '../../program/dynamic-call.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { FailedCheck } from '../control/assert.ts';
import { movedCallOperands } from '../control/moved-operands.ts';
import type { Action } from '../scope/action.ts';
import type { Slot } from '../scope/scope.ts';
import { currentSimulation, nothingToRead } from './simulation.ts';
import { operandReader, putUnknown, UnknownTape } from './unknown-values.ts';

/** Returns the action of a control op that tolerates operands no run would have. */
export function onAnyPath(step: Step, values: ValueTable, run: Action): Action {
  const readOperands = operandReader(step, values);
  const tolerant = tolerantAction(step, values, run);
  return (slots, scalars) => {
    readOperands(slots);
    tolerant(slots, scalars);
  };
}

function tolerantAction(step: Step, values: ValueTable, run: Action): Action {
  const { form } = step.op.op.kernel as { readonly form: string };
  if (form === 'list') return onAnyList(step, values, run);
  if (form === 'call') return onAnyShapes(step, run);
  return form.endsWith('Backward') ? onAnyTape(step, values, run) : run;
}

function onAnyList(step: Step, values: ValueTable, run: Action): Action {
  const { op, inputs, outputs } = step.op;
  const [result, mark] = outputs;
  const { device } = values[result!]!;
  const itemsOf = (slot: Slot) => (slot.holder as TensorList).items;
  const isOutside = (slot: Slot) => (slot.holder as ListMark).index < 0;
  const markNothing = (slots: readonly Slot[]) => {
    slots[mark!]!.put(new ListMark(device, -1, 0), 0);
  };
  switch (op.name) {
    case 'listAt':
      return (slots, scalars) => {
        if (itemsOf(slots[inputs[0]!]!).length > 0) return run(slots, scalars);
        putUnknown(slots[result!]!, values[result!]!);
        markNothing(slots);
      };
    case 'listSet':
      return (slots, scalars) => {
        if (itemsOf(slots[inputs[0]!]!).length > 0) return run(slots, scalars);
        slots[result!]!.put(new TensorList(device), 0);
        markNothing(slots);
      };
    case 'listPut':
      return (slots, scalars) => {
        if (!isOutside(slots[inputs[0]!]!)) return run(slots, scalars);
        slots[result!]!.put(new TensorList(device), 0);
      };
    case 'listClear':
      return (slots, scalars) => {
        if (!isOutside(slots[inputs[1]!]!)) return run(slots, scalars);
        slots[result!]!.put(new TensorList(device, itemsOf(slots[inputs[0]!]!)), 0);
      };
    default:
      return run;
  }
}

/** A region simulated on its own doesn't know the tapes of its inputs; all gradients then count as new memory. */
function onAnyTape(step: Step, values: ValueTable, run: Action): Action {
  const [tape] = step.op.inputs;
  return (slots, scalars) => {
    if (!(slots[tape!]!.holder instanceof UnknownTape)) return run(slots, scalars);
    for (const id of step.op.outputs) putUnknown(slots[id]!, values[id]!);
  };
}

/** If the call rejects its operands' shapes, uses the shapes it was traced with. */
function onAnyShapes(step: Step, run: Action): Action {
  const { op, call: planned } = step;
  const { forms, sample } = planned!.call;
  const moves = movedCallOperands(step);
  const isRefused = (operands: readonly GivenOperand[]): boolean => {
    try {
      planned!.at(operands);
      return false;
    } catch (error) {
      if (error instanceof FailedCheck) return true;
      throw error;
    }
  };
  return (slots, scalars) => {
    const simulation = currentSimulation();
    const given = forms.map((form, i): GivenOperand => {
      const { holder } = slots[op.inputs[i]!]!;
      if (form === 'tensor') return null;
      if (form === 'number') return simulation.decider.number() ?? sample[i]!;
      return form === 'list'
        ? (holder as TensorList).items.length
        : (holder as DynamicTensor).shape;
    });
    const refused = isRefused(given);
    const numbers = (refused ? sample : given).filter((_, i) => forms[i] === 'number');
    let next = 0;
    simulation.read = () => (numbers[next++] ?? nothingToRead()) as number;
    if (!refused) return run(slots, scalars);
    const stays: { readonly slot: Slot; readonly holder: Holder }[] = [];
    forms.forEach((form, i) => {
      if (form !== 'list' && form !== 'dynamic') return;
      const slot = slots[op.inputs[i]!]!;
      const holder = slot.holder!;
      slot.put(
        form === 'list' ? sampleList(holder, sample[i]!) : sampleTensor(holder, sample[i]!),
        0,
      );
      if (moves[i]) holder.release();
      else stays.push({ slot, holder });
    });
    run(slots, scalars);
    for (const { slot, holder } of stays.reverse()) {
      slot.release();
      slot.put(holder, 0);
    }
  };
}

function sampleList(holder: Holder, count: GivenOperand): TensorList {
  const { items } = holder as TensorList;
  const list = new TensorList(holder.device, items.slice(0, count as number));
  while (list.items.length < (count as number)) {
    list.items.push({ holder: new Holder(holder.device, 0), offset: 0 });
  }
  return list;
}

function sampleTensor(from: Holder, shape: GivenOperand): DynamicTensor {
  const { holder, offset } = (from as DynamicTensor).data;
  return new DynamicTensor(
    from.device,
    { holder: holder.retain(), offset },
    shape as readonly number[],
  );
}
