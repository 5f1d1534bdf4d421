import { DynamicTensor } from '../../device/dynamic-tensor.ts';
import { Holder } from '../../device/holder.ts';
import { invariant } from '../../errors/invariant.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Action } from '../scope/action.ts';

/** Computes the size of a tensor of data-dependent shape as a device scalar. */
export function compileDimension({ op }: Step, values: ValueTable): Action {
  const [tensor] = op.inputs;
  const [result] = op.outputs;
  const meta = values[result!]!;
  const dim = op.attrs.dim as number;
  const data = new Float64Array(1);
  const bytes = meta.device.elementBytes(meta.dtype);
  return (slots) => {
    const { holder } = slots[tensor!]!;
    invariant(holder instanceof DynamicTensor, 'a shape is read of a value that has one');
    data[0] = dim < 0 ? sizeOf(holder.shape) : holder.shape[dim]!;
    const slot = slots[result!]!;
    slot.put(new Holder(meta.device, bytes), 0);
    meta.device.upload(data, meta, slot);
  };
}
