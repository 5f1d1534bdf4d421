import type { Device } from '../../device/device.ts';
import type { ProgramOp, ValueTable } from '../program.ts';

/** Whether a fused kernel of the values' device may bind as many operands and results as the op has. */
export function fitsDevice(made: ProgramOp, values: ValueTable): boolean {
  const { op, inputs, outputs } = made;
  const first = [...outputs, ...inputs][0];
  // A list is launched in as many parts as it takes.
  if (op.kernel.kind !== 'fused' || first === undefined) return true;
  return inputs.length + outputs.length <= values[first]!.device.mostFusedBuffers;
}

/** Whether the device has a kernel for the fused op as it is; its parts are ops of their own otherwise. */
export function runsFused(op: ProgramOp, device: Device, values: ValueTable): boolean {
  if (!device.fusesPointwise) return false;
  // An op that only keeps parts together has the record of its first one.
  return op.op !== op.parts?.[0]?.op && fitsDevice(op, values);
}
