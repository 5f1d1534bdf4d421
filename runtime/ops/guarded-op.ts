import type { Device } from '../device/device.ts';
import { DeviceError } from '../errors/errors.ts';
import { formatSpec } from '../tensor/meta.ts';
import { moveToDevice } from '../tensor/move-to-device.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type OpRecord, userName } from './define-op.ts';

/** An op as `deviceGuard` wants it performed. */
export interface GuardedOp {
  readonly op: OpRecord;
  readonly inputs: readonly Tensor[];
  /** Copies of operands, to be disposed when the op was performed. */
  readonly moved: readonly Tensor[];
}

const onCpuRecords = new WeakMap<OpRecord, OpRecord>();

/** The op tagged with the CPU; all else about it, its gradient too, is the same. */
function onCpu(op: OpRecord): OpRecord {
  let tagged = onCpuRecords.get(op);
  if (!tagged) {
    tagged = { ...op, kernel: { kind: 'onCpu', op } };
    onCpuRecords.set(op, tagged);
  }
  return tagged;
}

/**
 * What `deviceGuard(device)` makes of an op. Under the CPU's guard the CPU computes ops of GPU tensors, and the
 * result goes back; under a GPU's guard operands on the CPU are copied there. Null: nothing is to be done.
 * Throws DeviceError for a write in place to a tensor on the CPU (a GPU's result can't be had at once), and
 * AutogradError for an operand whose gradient would be lost.
 */
export function guardedOp(
  op: OpRecord,
  inputs: readonly Tensor[],
  device: Device,
): GuardedOp | null {
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || kind === 'onCpu') return null;
  if (device.kind === 'cpu') {
    return inputs.some((x) => x.device.kind === 'gpu')
      ? { op: onCpu(op), inputs, moved: [] }
      : null;
  }
  if (device.kind !== 'gpu' || !inputs.some((x) => x.device.kind === 'cpu')) return null;
  if (op.inPlace && inputs[0]!.device.kind === 'cpu') throw unwritable(op, inputs[0]!, device);
  const copies = new Map<Tensor, Tensor>();
  const operands = inputs.map((x) => {
    if (x.device.kind !== 'cpu') return x;
    const copy = copies.get(x) ?? moveToDevice(x, device);
    copies.set(x, copy);
    return copy;
  });
  return { op, inputs: operands, moved: [...copies.values()] };
}

function unwritable(op: OpRecord, target: Tensor, device: Device): DeviceError {
  return new DeviceError({
    what: `${userName(op)}: deviceGuard('${device.name}') can't write to a tensor on the CPU`,
    given: `a ${formatSpec(target)} tensor on ${target.device.name}`,
    expected: `a target on ${device.name}: what a GPU computes can't be read at once`,
    remedy: `move the target first: x.to('${device.name}'), or write outside of the guard`,
  });
}
