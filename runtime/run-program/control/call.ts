import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { type ListItem, TensorList } from '../../device/tensor-list.ts';
import { type GivenOperand, type OperandForm, operandsOf } from '../../program/dynamic-call.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action, BindPlan } from '../scope/action.ts';
import { Slot } from '../scope/scope.ts';
import { backwardOperands } from './backward-operands.ts';
import { decided } from './decisions.ts';
import { movedCallOperands, takeFrom } from './moved-operands.ts';
import { keepOperands, operandsOfRun } from './operands-of-runs.ts';
import { readNumber } from './read-number.ts';
import { type RegionRun, regionRun } from './region.ts';
import { RegionBackward } from './region-backward.ts';
import { Tape } from './tape.ts';

/**
 * Runs the program for the operands' shapes. Tensors of data-dependent shape and list elements are inputs like any
 * other operand. Operands whose last use is the call die inside it.
 */
export function compileCall(step: Step, values: ValueTable, bind: BindPlan): Action {
  const { op, call: planned } = step;
  const { forms, dynamic, list } = planned!.call;
  const results = op.outputs.slice(0, -1);
  const tape = op.outputs[results.length]!;
  const { device } = values[tape]!;
  const moves = movedCallOperands(step);
  const given = (slots: readonly Slot[]): GivenOperand[] =>
    forms.map((form, i) => {
      const id = op.inputs[i]!;
      const { holder } = slots[id]!;
      if (form === 'tensor') return null;
      if (form === 'list') return (holder as TensorList).items.length;
      if (form === 'dynamic') return (holder as DynamicTensor).shape;
      const number = readNumber(values[id]!, slots[id]!);
      decided.current?.note(number);
      return number;
    });
  return (slots, scalars) => {
    const shapes = given(slots);
    const region = regionRun(planned!.at(shapes), bind);
    keepOperands(region, shapes);
    const scope = region.take(scalars);
    try {
      let input = 0;
      forms.forEach((form, i) => {
        if (form === 'number') return;
        for (const each of taken(slots[op.inputs[i]!]!, form, moves[i]!)) {
          region.own(scope, input++, each);
        }
      });
      region.forward(scope);
    } catch (error) {
      region.release(scope);
      throw error;
    }
    const { values: inner, forward } = region.planned;
    if (list) {
      const items = forward.outputs.map((id) => owned(scope.slots[id]!));
      slots[results[0]!]!.put(new TensorList(device, items), 0);
    } else
      results.forEach((id, i) => {
        const slot = slots[id]!;
        region.result(scope, i, slot);
        if (!dynamic[i]) return;
        const { shape } = inner[forward.outputs[i]!]!;
        slot.put(
          new DynamicTensor(device, { holder: slot.holder!, offset: slot.offset }, shape),
          0,
        );
      });
    region.endForward(scope);
    const record = new Tape(device);
    slots[tape]!.put(record, 0);
    if (region.planned.backward) record.push(region, scope);
    else region.release(scope);
  };
}

function owned({ holder, offset, identity }: Slot): ListItem {
  return { holder: holder!, offset, identity };
}

/** Returns an operand's tensors, with one reference each: the operand's own if it moves and is not shared. */
function taken(slot: Slot, form: OperandForm, moves: boolean): readonly ListItem[] {
  const { holder } = slot;
  if (form === 'tensor') return [owned(takeFrom(slot, moves))];
  const alone = moves && holder!.owners === 1;
  const items =
    form === 'list'
      ? (holder as TensorList).items.map((item) => item!)
      : [(holder as DynamicTensor).data];
  if (!alone) for (const item of items) item.holder.retain();
  else if (form === 'list') (holder as TensorList).items.length = 0;
  else (holder as DynamicTensor).moveOut();
  if (moves) slot.release();
  return items;
}

/** Runs the backward of the run on the tape. Gradients of values of data-dependent shape have that run's shapes. */
export function compileCallBackward(step: Step, values: ValueTable): Action {
  const { op, call: planned } = step;
  const { given, keeps, moved: moves, of, sums, tape, to } = backwardOperands(step, values);
  const { forms, dynamic, list: returnsList } = planned!.call;
  const { device } = values[tape]!;
  const [retaining, freeing] = [true, false].map(() => new WeakMap<RegionRun, RegionBackward>());
  const backwardOf = (region: RegionRun, retains: boolean) => {
    const backwards = retains ? retaining! : freeing!;
    const existing = backwards.get(region);
    if (existing) return existing;
    const backward = new RegionBackward(region, retains, () => true);
    backwards.set(region, backward);
    return backward;
  };
  return (slots) => {
    const record = slots[tape]!.holder as Tape;
    const retains = keeps || record.isShared;
    const gradientOf = (result: number): Slot | null => {
      const position = of.indexOf(returnsList ? 0 : result);
      if (position < 0) return null;
      if (returnsList) {
        const item = (slots[given[position]!]!.holder as TensorList | null)?.items[result];
        if (!item) return null;
        const element = new Slot();
        element.put(item.holder.retain(), item.offset);
        return element;
      }
      const slot = slots[given[position]!]!;
      if (!dynamic[result]) return takeFrom(slot, moves[position]!);
      if (!(slot.holder instanceof DynamicTensor)) return null;
      const [{ holder, offset }] = taken(slot, 'dynamic', moves[position]!) as [ListItem];
      const own = new Slot();
      own.put(holder, offset);
      return own;
    };
    const lists = new Map<number, TensorList>();
    try {
      if (record.length > 0) {
        const { region, scope } = retains ? record.at(0) : record.pop();
        const shapes = operandsOfRun(region);
        const operands = operandsOf(forms, shapes);
        backwardOf(region, retains).run(scope, gradientOf, (input, gradient) => {
          const operand = operands[input]!;
          const position = to.indexOf(operand);
          const { holder, offset } = gradient;
          if (position < 0 || !holder) return;
          const slot = slots[op.outputs[position]!]!;
          const data = { holder, offset };
          if (forms[operand] === 'tensor') sums[position]!.add(gradient);
          else if (forms[operand] === 'dynamic') {
            data.holder.retain();
            slot.put(new DynamicTensor(device, data, shapes[operand] as readonly number[]), 0);
          } else {
            const count = shapes[operand] as number;
            const list =
              lists.get(position) ?? new TensorList(device, new Array<null>(count).fill(null));
            lists.set(position, list);
            list.set(input - operands.indexOf(operand), data);
            if (slot.holder === null) slot.put(list, 0);
          }
        });
      }
      op.outputs.forEach((id, position) => {
        if (slots[id]!.holder === null) sums[position]!.moveTo(slots[id]!);
      });
    } finally {
      for (const sum of sums) sum.release();
    }
  };
}
