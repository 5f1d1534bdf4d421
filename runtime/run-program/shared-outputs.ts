import { joinViews } from '../autograd/view-family.ts';
import { aliasOp } from '../program/alias-op.ts';
import type { Plan } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Outputs that show the memory of an input or of another output become its views, as in eager
 * execution: a recorded write to one is seen by the others. Those that are `apart` stay so.
 */
export function joinShared(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  apart: readonly boolean[],
): void {
  for (const [i, output] of outputs.entries()) {
    const { holder } = output;
    if (!holder || holder.handles === 1 || apart[i]) continue;
    const base =
      inputs.find((own) => own.holder === holder) ??
      outputs.find((own) => own.holder === holder && isWhole(own));
    if (base && base !== output) joinViews(base, output);
  }
}

function isWhole({ holder, device, dtype, size, isContiguous }: Tensor): boolean {
  return isContiguous && holder!.bytes === size * device.elementBytes(dtype);
}

/** Per output: it is a view that was made where no gradients are recorded, by `detach()` for instance. */
export function viewsApart({ steps, outputs }: Plan): boolean[] {
  const apart = new Set<ValueId>();
  for (const { op } of steps) {
    if (op.op.kernel.kind !== 'view') continue;
    const isApart = !op.recordsGrad || op.op === aliasOp || apart.has(op.inputs[0]!);
    if (isApart) apart.add(op.outputs[0]!);
  }
  return outputs.map((id) => apart.has(id));
}
