import { joinViews } from '../../autograd/view-family.ts';
import type { Device } from '../../device/device.ts';
import { Holder } from '../../device/holder.ts';
import { type Attrs, operandUse, userName } from '../../device/kernel-op.ts';
import { contiguousMeta, isContiguousMeta } from '../../device/tensor-meta.ts';
import { events } from '../../memory/events.ts';
import { spans } from '../../profiler/spans.ts';
import { sizeOf } from '../../spec/shape.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { traceStream } from '../../trace-log/stream.ts';
import type { OpRecord } from '../record/define-op.ts';
import { currentCallTrace } from './call-trace.ts';
import { copy } from './copy.ts';
import { preparedCall } from './prepared-call.ts';

/** Runs one op immediately. In-place ops return their target. */
export function executeEagerly(
  op: OpRecord,
  inputs: readonly Tensor[],
  attrs: Attrs,
  device: Device,
): Tensor[] {
  if (!spans.active) return execute(op, inputs, attrs, device);
  const span = { kind: 'op', name: userName(op), device: device.name } as const;
  return spans.around(span, execute, op, inputs, attrs, device);
}

function execute(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs, device: Device): Tensor[] {
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i]!;
    if (!input.holder && operandUse(op, i) === 'data') input.holderFor(userName(op));
  }
  if (op.kernel.kind === 'view') {
    const x = inputs[0]!;
    currentCallTrace()?.view(op, inputs, attrs, device);
    const view = new Tensor(op.kernel.view(inputs, attrs), x.holderFor(op.name).retain());
    joinViews(x, view);
    return [view];
  }
  if (op.layout === 'any') return run(op, inputs, attrs, device);
  for (let i = 0; i < inputs.length; i++) {
    if (needsCopy(op, inputs[i]!, i)) return runOnCopies(op, inputs, attrs, device);
  }
  return run(op, inputs, attrs, device);
}

/** Runs the op on contiguous copies of strided operands, which die with the op. */
function runOnCopies(
  op: OpRecord,
  inputs: readonly Tensor[],
  attrs: Attrs,
  device: Device,
): Tensor[] {
  const operands = inputs.map((x, i) => (needsCopy(op, x, i) ? packed(op, x, device) : x));
  const outer = events.op;
  try {
    return run(op, operands, attrs, device);
  } finally {
    events.op = op.name;
    operands.forEach((operand, i) => {
      if (operand !== inputs[i]) operand.dispose();
    });
    events.op = outer;
  }
}

function packed(op: OpRecord, x: Tensor, device: Device): Tensor {
  if (traceStream.active) traceStream.transform(userName(op), x, contiguousMeta(x, device));
  return executeEagerly(copy, [x], {}, device)[0]!;
}

function run(op: OpRecord, inputs: readonly Tensor[], attrs: Attrs, device: Device): Tensor[] {
  const trace = currentCallTrace();
  const call = trace
    ? trace.call(op, inputs, attrs, device)
    : preparedCall(op, inputs, attrs, device);
  const { outputs: metas, bytes, launch, varies } = call;
  const outer = events.op;
  events.op = op.name;
  // An array that grows by `push` takes room for 17 elements.
  const outputs = op.inPlace ? inputs.slice(0, 1) : new Array<Tensor>(metas.length);
  try {
    for (let i = 0; i < metas.length; i++) {
      outputs[i] = new Tensor(metas[i]!, new Holder(device, bytes[i]!));
    }
    const now = varies ? attrs : undefined;
    if (spans.active) {
      const span = { kind: 'kernel', name: op.name, device: device.name } as const;
      spans.around(span, launch, inputs, outputs, now);
    } else launch(inputs, outputs, now);
    // A transfer emits its own copy event.
    if (op.kernel.kind !== 'transfer') events.kernel(device.name, op.name);
    if (traceStream.active) traceEager(op, device, inputs, outputs);
    if (op.inPlace) inputs[0]!.holder!.version++;
    return outputs;
  } catch (error) {
    if (!op.inPlace) for (const output of outputs) output?.dispose();
    throw error;
  } finally {
    events.op = outer;
  }
}

function traceEager(
  op: OpRecord,
  device: Device,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  const { operands } = op;
  const named = inputs.map((meta, i) => {
    const last = operands.length - 1;
    const index = op.variadic && i >= last ? i - last : '';
    return { name: `${operands[Math.min(i, last)]!.name}${index}`, meta };
  });
  const results = outputs.map((meta, i) => ({ name: i === 0 ? 'out' : `out${i}`, meta }));
  traceStream.op(userName(op), device.name, named, results);
}

export function newHolder(
  device: Device,
  dtype: Tensor['dtype'],
  shape: readonly number[],
): Holder {
  return new Holder(device, sizeOf(shape) * device.elementBytes(dtype));
}

function needsCopy(op: OpRecord, input: Tensor, index: number): boolean {
  // The target of a write must be the user's own memory; its kernel supports strides.
  if (operandUse(op, index) === 'shape' || (op.inPlace && index === 0)) return false;
  return !isContiguousMeta(input);
}
