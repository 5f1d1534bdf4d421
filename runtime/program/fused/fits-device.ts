import type { Device } from '../../device/device.ts';
import type { ProgramOp, ValueTable } from '../program.ts';

/** Whether a fused kernel on the values' device can bind all operands and results of the op. */
export function fitsDevice(fused: ProgramOp, values: ValueTable): boolean {
  const { op, inputs, outputs } = fused;
  const first = [...outputs, ...inputs][0];
  // A list op is launched in batches, so it always fits.
  if (op.kernel.kind !== 'fused' || first === undefined) return true;
  return inputs.length + outputs.length <= values[first]!.device.mostFusedBuffers;
}

/** Whether the device has a kernel for the fused op; otherwise its parts run as separate ops. */
export function runsFused(op: ProgramOp, device: Device, values: ValueTable): boolean {
  if (!device.fusesPointwise) return false;
  // An op that only groups its parts has the record of the first one.
  return op.op !== op.parts?.[0]?.op && fitsDevice(op, values);
}
