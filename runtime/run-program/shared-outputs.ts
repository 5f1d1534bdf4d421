import { joinViews } from '../autograd/view-family.ts';
import type { Holder } from '../device/holder.ts';
import { isContiguousMeta } from '../device/tensor-meta.ts';
import type { Plan } from '../program/plan.ts';
import type { ValueId, ValueTable } from '../program/program.ts';
import { ViewBases } from '../program/view-bases.ts';
import { sizeOf } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * The tensor that an output is a view of, as in eager execution: an input or another output. `found`: it depends on a
 * branch or loop, so it is identified by its memory after the run. `hidden`: the caller doesn't get it, or the view was
 * taken in `noGrad`. Null: no base, although other handles, such as those from `detach()`, may share the memory.
 */
export type OutputBase =
  | { readonly of: 'inputs' | 'outputs'; readonly index: number }
  | { readonly of: 'found' }
  | { readonly of: 'hidden' }
  | null;

/** Makes outputs views of their bases, so that a recorded write to one affects the other. */
export function joinShared(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  bases: readonly OutputBase[],
): void {
  for (let i = 0; i < outputs.length; i++) {
    const base = bases[i]!;
    const output = outputs[i]!;
    const { holder } = output;
    if (!base || !holder || holder.handles === 1) continue;
    const known = baseAmong(inputs, outputs, bases, base, holder);
    if (known === output) continue;
    if (known?.holder === holder) joinViews(known, output);
    else output.hideBase();
  }
}

function baseAmong(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  bases: readonly OutputBase[],
  base: NonNullable<OutputBase>,
  holder: Holder,
): Tensor | undefined {
  if (base.of === 'inputs') return inputs[base.index];
  if (base.of === 'outputs') return outputs[base.index];
  if (base.of === 'hidden') return undefined;
  return (
    inputs.find((each) => each.holder === holder) ??
    outputs.find((each, k) => bases[k]?.of === 'found' && each.holder === holder && isWhole(each))
  );
}

/** Whether the tensor covers all of its memory, in order. */
function isWhole(tensor: Tensor): boolean {
  const bytes = tensor.numel() * tensor.device.elementBytes(tensor.dtype);
  return tensor.isContiguous && tensor.holder!.bytes === bytes;
}

/** Returns the base of each output of the plan. */
export function outputBases(
  { inputs, outputs, steps }: Plan,
  values: ValueTable,
): readonly OutputBase[] {
  const ops = steps.map(({ op }) => op);
  const bases = new ViewBases(ops);
  const decided = new Set(
    ops.flatMap(({ op, outputs: made }) => (op.kernel.kind === 'control' ? made : [])),
  );
  const tensors = outputs.map((id) => bases.tensorOf(id));
  return outputs.map((id, i): OutputBase => {
    if (bases.isUnrecorded(id)) return { of: 'hidden' };
    const base = bases.baseOf(id);
    if (decided.has(base)) return { of: 'found' };
    const input = inputs.indexOf(base);
    if (input >= 0) return { of: 'inputs', index: input };
    const itself = tensors.indexOf(base);
    // A view of all elements replaces a base that the caller doesn't get.
    const output =
      itself >= 0
        ? itself
        : outputs.findIndex((other) => bases.baseOf(other) === base && isWholeOf(other, base));
    if (itself < 0 && bases.isUnrecorded(base)) return { of: 'hidden' };
    // Without other views of its base, which the caller doesn't get, a view is written alone.
    const isOther = (other: ValueId, k: number) =>
      tensors[k] !== tensors[i] && bases.baseOf(other) === base;
    if (output < 0) return outputs.some(isOther) ? { of: 'hidden' } : null;
    return output === i ? null : { of: 'outputs', index: output };
  });

  function isWholeOf(view: ValueId, base: ValueId): boolean {
    const [of, shown] = [values[base]!, values[view]!];
    return (
      of.dtype === shown.dtype &&
      isContiguousMeta(shown) &&
      sizeOf(shown.shape) === sizeOf(of.shape)
    );
  }
}
