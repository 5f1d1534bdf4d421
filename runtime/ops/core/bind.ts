import { gradEnabled } from '../../autograd/grad-mode.ts';
import { apartFromTarget, recordInPlace } from '../../autograd/in-place-node.ts';
import { anyRequiresGrad, recordOp } from '../../autograd/op-node.ts';
import { currentDevice, guardingDevice } from '../../device/current.ts';
import type { Device } from '../../device/device.ts';
import { type Attrs, userName } from '../../device/kernel-op.ts';
import { formatSpec } from '../../device/tensor-meta.ts';
import { DeviceError } from '../../errors/errors.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { expectTensor, type OpRecord } from '../record/define-op.ts';
import { sharingWith } from '../record/operand-sharing.ts';
import { copy } from './copy.ts';
import { executeEagerly } from './eager.ts';
import { type GuardedOp, guardedOp } from './guarded-op.ts';

/** Handles ops instead of running their kernels: a program builder appends them. */
export interface Interceptor {
  execute(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs, device: Device): Tensor[];
  /** Handles an in-place write that gradients flow through; returns the target. */
  recordWrite(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs): Tensor;
}

/** Null while ops are executed. */
export let interceptor: Interceptor | null = null;

/** Runs `body` with ops passed to `next`. */
export function withInterceptor<T>(next: Interceptor, body: () => T): T {
  const outer = interceptor;
  interceptor = next;
  try {
    return body();
  } finally {
    interceptor = outer;
  }
}

export function intercepted(): boolean {
  return interceptor !== null;
}

const noAttrs: Attrs = {};

/**
 * The single entry point for performing an op: eager execution runs its kernel, tracing appends it to a program;
 * both record the same backward node.
 */
export function bind(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs = noAttrs): Tensor[] {
  const guarding = guardingDevice();
  if (guarding !== null) {
    const guarded = guardedOp(op, inputs, guarding);
    if (guarded) return performGuarded(guarded, attrs);
  }
  return perform(op, inputs, attrs);
}

function performGuarded({ op, inputs, moved }: GuardedOp, attrs: Attrs): Tensor[] {
  try {
    return perform(op, inputs, attrs);
  } finally {
    for (const copy of moved) copy.dispose();
  }
}

function perform(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs): Tensor[] {
  const device = op.target ?? (inputs.length > 0 ? commonDevice(op, inputs) : currentDevice());
  if (op.inPlace) return [bindInPlace(op, inputs, attrs, device)];
  const outputs = interceptor
    ? interceptor.execute(op, inputs, attrs, device)
    : executeEagerly(op, inputs, attrs, device);
  if (gradEnabled()) recordOp(op, attrs, inputs, outputs);
  return outputs;
}

/** `bind` for ops with one output. */
export function bind1(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs = noAttrs): Tensor {
  return bind(op, inputs, attrs)[0]!;
}

function bindInPlace(
  op: OpRecord,
  inputs: readonly Tensor[],
  attrs: Attrs,
  device: Device,
): Tensor {
  const recorded = gradEnabled() && anyRequiresGrad(inputs);
  if (interceptor) {
    if (recorded) return interceptor.recordWrite(op, inputs, attrs);
    return interceptor.execute(op, inputs, attrs, device)[0]!;
  }
  const operands = apartFromTarget(op, inputs, recorded, sharingWith, copied);
  try {
    if (!recorded) return executeEagerly(op, operands, attrs, device)[0]!;
    return recordInPlace(op, attrs, operands, {
      before: () => executeEagerly(copy, inputs.slice(0, 1), {}, device)[0]!,
      write: () => executeEagerly(op, operands, attrs, device)[0]!,
    });
  } finally {
    operands.forEach((operand, i) => {
      if (operand !== inputs[i]) operand.dispose();
    });
  }
}

const copied = (x: Tensor): Tensor => bind1(copy, [x]);

function commonDevice(op: OpRecord, inputs: readonly Tensor[]): Device {
  for (let i = 0; i < inputs.length; i++) expectTensor(op, inputs[i]!);
  const { device } = inputs[0]!;
  for (let i = 1; i < inputs.length; i++) {
    if (inputs[i]!.device === device) continue;
    throw new DeviceError({
      what: `${userName(op)}: operands on different devices`,
      given: inputs.map((t) => `${formatSpec(t)} on ${t.device.name}`).join(', '),
      expected: 'all operands on one device',
      remedy: `move one of them: x.to('${device.name}'); if both have one name, there are two copies of the package: npm ls tostatic`,
    });
  }
  return device;
}
