import { invariant } from '../../../errors/invariant.ts';
import { E } from '../../../ops/expr/expr.ts';
import { type FusedBody, fusedAttr } from '../../../ops/expr/fused-body.ts';
import type { KernelOp } from '../../kernel-op.ts';
import type { ListBody, ListItem } from '../../list-body.ts';
import { stageAttr } from '../../staged-body.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output } from '../core/kernel-plan.ts';
import { type PointwiseBody, pointwiseStage } from './pointwise-kernel.ts';
import type { WgslPlan } from './wgsl-plan.ts';

/** Returns a list of pointwise ops in the fewest dispatches that `mostBuffers` storage buffers per kernel allow. */
export function listPlan(
  { items }: ListBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  mostBuffers: number,
): WgslPlan {
  const groups: PointwiseBody[][] = [[]];
  let bound = new Set<string>();
  items.forEach((item, number) => {
    const slots = [
      ...item.inputs.map((index) => `input ${index}`),
      ...item.outputs.map((index) => `output ${index}`),
    ];
    const joined = new Set([...bound, ...slots]);
    const fits = joined.size <= mostBuffers;
    if (!fits) groups.push([]);
    bound = fits ? joined : new Set(slots);
    groups.at(-1)!.push(itemBody(item, number, inputs, outputs));
  });
  return { scratch: [], stages: groups.map((bodies) => pointwiseStage(bodies)) };
}

function itemBody(
  item: ListItem,
  number: number,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): PointwiseBody {
  const { kernel } = item.op;
  const read = item.inputs.map((index) => ({ slot: input(index), meta: inputs[index]! }));
  return {
    body: kernel.kind === 'fused' ? kernel.body : singleItem(item, inputs, outputs),
    inputs: read,
    outputs: item.outputs.map((index) => ({ slot: output(index), meta: outputs[index]! })),
    attr: (part, name) => stageAttr(number, kernel.kind === 'fused' ? fusedAttr(part, name) : name),
  };
}

/** Returns an unfused op as a body of one part; an in-place op writes its operand 0. */
function singleItem(
  item: ListItem,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): FusedBody {
  const { op } = item;
  const { shape, dtype } = op.inPlace ? inputs[item.inputs[0]!]! : outputs[item.outputs[0]!]!;
  const operands = item.inputs.map((_, operand) => ({ operand }));
  return {
    shape,
    parts: [{ expr: exprOf(op), operands, dtype }],
    results: op.inPlace ? [] : [0],
    writes: op.inPlace ? [{ operand: 0, part: 0 }] : [],
  };
}

function exprOf({ name, kernel }: KernelOp) {
  if (kernel.kind === 'pointwise') return kernel.expr;
  invariant(kernel.kind === 'named' && kernel.name === 'copyInto', `${name} in a list`);
  return E.input(1);
}
