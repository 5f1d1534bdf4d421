import type { Device } from '../device/device.ts';
import { events } from '../memory/events.ts';
import { Holder } from '../memory/holder.ts';
import { contiguousMeta, isContiguousMeta, type TensorSpec } from '../tensor/meta.ts';
import { sizeOf } from '../tensor/shape.ts';
import { Tensor } from '../tensor/tensor.ts';
import { copy } from './copy.ts';
import { type Attrs, type OpRecord, operandUse, userName } from './define-op.ts';

/** Runs one op now. In-place ops return their target itself. */
export function executeEagerly(
  op: OpRecord,
  inputs: readonly Tensor[],
  attrs: Attrs,
  device: Device,
): Tensor[] {
  inputs.forEach((input, i) => {
    if (operandUse(op, i) === 'data') input.holderFor(userName(op));
  });
  if (op.kernel.kind === 'view') {
    const x = inputs[0]!;
    return [new Tensor(op.kernel.view(inputs, attrs), x.holderFor(op.name).retain())];
  }
  const specs = op.infer(inputs, attrs);
  const operands = op.layout === 'any' ? inputs : inputs.map((x, i) => contiguousOperand(op, x, i));
  const outer = events.op;
  events.op = op.name;
  const outputs: Tensor[] = [];
  try {
    if (op.inPlace) outputs.push(inputs[0]!);
    else for (const spec of specs) outputs.push(newTensor(spec, device));
    device.prepare(op, operands, outputs, attrs)(operands, outputs);
    events.kernel(device.name, op.name);
    if (op.inPlace) outputs[0]!.holderFor(op.name).version++;
    return outputs;
  } catch (error) {
    if (!op.inPlace) for (const output of outputs) output.dispose();
    throw error;
  } finally {
    // A strided operand's contiguous copy dies with the op.
    operands.forEach((operand, i) => {
      if (operand !== inputs[i]) operand.dispose();
    });
    events.op = outer;
  }
}

function newTensor(spec: TensorSpec, device: Device): Tensor {
  const meta = contiguousMeta(spec, device);
  return new Tensor(meta, newHolder(device, meta.dtype, meta.shape));
}

export function newHolder(
  device: Device,
  dtype: Tensor['dtype'],
  shape: readonly number[],
): Holder {
  return new Holder(device, sizeOf(shape) * device.elementBytes(dtype));
}

function contiguousOperand(op: OpRecord, input: Tensor, index: number): Tensor {
  // The target of a write must be the user's own memory; its kernel takes strides.
  if (operandUse(op, index) === 'shape' || (op.inPlace && index === 0)) return input;
  return isContiguousMeta(input) ? input : executeEagerly(copy, [input], {}, input.device)[0]!;
}
