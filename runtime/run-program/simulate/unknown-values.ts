/** Values of unknown contents, because the ops that produced them are not simulated. */

import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { ListMark, TensorList } from '../../device/tensor-list.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { type Shape, sizeOf } from '../../spec/shape.ts';
import { Tape } from '../control/tape.ts';
import type { Slot } from '../scope/scope.ts';

/** The tape of a control op that isn't simulated. */
export class UnknownTape extends Tape {}

/** The kind of an operand that is not a tensor. */
type Contents = 'list' | 'mark' | 'tape' | { readonly shape: Shape };

/** Puts a value with one owner into a slot. It is a tensor until an op reads it as something else. */
export function putUnknown(slot: Slot, { device, dtype, shape }: TensorMeta): void {
  slot.put(new Holder(device, sizeOf(shape) * device.elementBytes(dtype)), 0);
}

/** Prepares a step: unknown operands become what the op reads them as. */
export function operandReader(step: Step, values: ValueTable): (slots: readonly Slot[]) => void {
  const { inputs } = step.op;
  const read = inputs.flatMap((id, i) => {
    const contents = contentsOf(step, i, values);
    return contents ? [{ id, contents, device: values[id]!.device }] : [];
  });
  return (slots) => {
    for (const { id, contents, device } of read) {
      const slot = slots[id]!;
      // Instances of subclasses are known.
      if (slot.holder?.constructor !== Holder) continue;
      slot.release();
      slot.put(emptyHolder(device, contents), 0);
    }
  };
}

function emptyHolder(device: TensorMeta['device'], contents: Contents): Holder {
  if (contents === 'list') return new TensorList(device);
  if (contents === 'mark') return new ListMark(device, -1, 0);
  if (contents === 'tape') return new UnknownTape(device);
  return new DynamicTensor(device, { holder: new Holder(device, 0), offset: 0 }, contents.shape);
}

const listOperands: ReadonlyMap<string, Contents> = new Map([
  ['list', 'list'],
  ['head', 'list'],
  ['tail', 'list'],
  ['mark', 'mark'],
]);

function contentsOf({ op, call }: Step, i: number, values: ValueTable): Contents | null {
  const { kernel, operands } = op.op;
  if (kernel.kind !== 'control') return null;
  switch (kernel.form) {
    case 'list':
      return listOperands.get(operands[i]?.name ?? '') ?? null;
    case 'dimension':
      return { shape: values[op.inputs[i]!]!.shape.slice(1) };
    case 'condBackward':
    case 'whileBackward':
      return i === 0 ? 'tape' : null;
    case 'callBackward':
      if (i === 0) return 'tape';
      return call!.call.list ? 'list' : null;
    case 'call': {
      const form = call!.call.forms[i]!;
      if (form === 'dynamic') return { shape: call!.call.sample[i] as Shape };
      return form === 'list' ? 'list' : null;
    }
    default:
      return null;
  }
}
