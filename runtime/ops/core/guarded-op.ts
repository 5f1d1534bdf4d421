import type { Device } from '../../device/device.ts';
import { userName } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { DeviceError } from '../../errors/errors.ts';
import { invariant } from '../../errors/invariant.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { OpRecord } from '../record/define-op.ts';

/** An op adapted to the current `deviceGuard`. */
export interface GuardedOp {
  readonly op: OpRecord;
  readonly inputs: readonly Tensor[];
  /** Copies of operands, disposed after the op. */
  readonly moved: readonly Tensor[];
}

const onCpuRecords = new WeakMap<OpRecord, OpRecord>();

/** Returns the op tagged to run on the CPU, otherwise unchanged, including its gradient. */
function onCpu(op: OpRecord): OpRecord {
  let tagged = onCpuRecords.get(op);
  if (!tagged) {
    tagged = { ...op, kernel: { kind: 'onCpu', op } };
    onCpuRecords.set(op, tagged);
  }
  return tagged;
}

type Transfer = (x: Tensor, device: Device) => Tensor;

let transfer: Transfer | null = null;

/** Called by the transfer op's module, which depends on this one. */
export function moveOperandsBy(move: Transfer): void {
  transfer = move;
}

let performed = 0;
let moves = true;

/** Runs `body` without moving operands for a guard, so that gradient ops run where the forward op ran. */
export function withoutMoves<T>(body: () => T): T {
  const outer = moves;
  moves = false;
  try {
    return body();
  } finally {
    moves = outer;
  }
}

/** Returns the number of ops that a guard has moved so far, which shows whether it had an effect. */
export function guardedOps(): number {
  return performed;
}

/**
 * Returns how an op runs under `deviceGuard(device)`; null if nothing changes. Operands move to the guard's device.
 * Exceptions: if any is on `meta`, the others move there; under a CPU guard, if any is on a GPU, the others move there,
 * the CPU computes the op and the result goes back, because GPU data can't be read synchronously. Throws DeviceError
 * for an in-place write whose target would have to move.
 */
export function guardedOp(
  op: OpRecord,
  inputs: readonly Tensor[],
  device: Device,
): GuardedOp | null {
  if (isAt(inputs, device)) return null;
  const { kind } = op.kernel;
  if (kind === 'view' || kind === 'control' || kind === 'onCpu' || kind === 'transfer') return null;
  const place = placeOf(inputs, device);
  // A `meta` guard determines where tensors are created; ops on other devices are unaffected.
  if (device.kind === 'meta' && !inputs.some((x) => x.device === device)) return null;
  const isOnCpu = place.kind === 'gpu' && device.kind === 'cpu';
  if (isAt(inputs, place) ? !isOnCpu : !moves) return null;
  if (op.inPlace && inputs[0]!.device !== place) throw unwritable(op, inputs[0]!, device, place);
  performed++;
  const copies = new Map<Tensor, Tensor>();
  const operands = inputs.map((x) => {
    if (x.device === place) return x;
    invariant(transfer, 'the transfer op is loaded');
    const copy = copies.get(x) ?? transfer(x, place);
    copies.set(x, copy);
    return copy;
  });
  return { op: isOnCpu ? onCpu(op) : op, inputs: operands, moved: [...copies.values()] };
}

function isAt(inputs: readonly Tensor[], device: Device): boolean {
  for (let i = 0; i < inputs.length; i++) if (inputs[i]!.device !== device) return false;
  return true;
}

/** Returns the device that all operands move to: the guard's, unless an operand can't be read from its device. */
function placeOf(inputs: readonly Tensor[], device: Device): Device {
  const held = (kind: Device['kind']) => inputs.find((x) => x.device.kind === kind)?.device;
  return held('meta') ?? (device.kind === 'cpu' ? held('gpu') : undefined) ?? device;
}

function unwritable(op: OpRecord, target: Tensor, device: Device, place: Device): DeviceError {
  const name = target.device.name === 'cpu' ? 'the CPU' : target.device.name;
  return new DeviceError({
    what: `${userName(op)}: deviceGuard('${device.name}') can't write to a tensor on ${name}`,
    given: `a ${formatSpec(target)} tensor on ${name}, written with what is on ${place.name}`,
    expected: `a target on ${place.name}`,
    remedy: `move the target first: x.to('${place.name}'), or write outside of the guard`,
  });
}
