import type { Attrs, OpRecord } from '../../../ops/core/define-op.ts';
import type { KernelName } from '../../../ops/core/kernel-names.ts';
import { E, type Expr } from '../../../ops/expr/expr.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { listPlan } from './list-kernels.ts';
import { matmulPlan, productPlan } from './matmul-kernel.ts';
import { fusedBody, singleBody } from './pointwise-bodies.ts';
import { pointwiseStage } from './pointwise-kernel.ts';
import { productBodyOf } from './product-body.ts';
import type { WgslPlan } from './wgsl-plan.ts';

/** Makes the dispatches of an op for operands of these metas. */
export type NamedWgslPlan = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => WgslPlan;

export interface AdapterFacts {
  /** Storage buffers that one kernel may bind. */
  readonly mostBuffers: number;
}

/** A kernel of ours, and what it uses that gpu.js can't express. */
interface WgslEntry {
  readonly why: string;
  readonly plan: NamedWgslPlan;
}

const sizes = 'sizes as uniforms, integer indices';

/** Ops with a name; others keep the kernels of gpu.js (`codegen/kernels.ts`). */
export const wgslKernels: ReadonlyMap<KernelName, WgslEntry> = new Map<KernelName, WgslEntry>([
  ['fill', { why: sizes, plan: pointwisePlan(E.attr('value')) }],
  ['copy', { why: sizes, plan: pointwisePlan(E.input(0)) }],
  ['copyInto', { why: sizes, plan: pointwisePlan(E.input(1)) }],
  ['matmul', { why: `workgroup memory, ${sizes}`, plan: matmulPlan }],
]);

/** The op as kernels of ours; null: gpu.js has it. */
export function wgslPlan(
  { kernel }: OpRecord,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  { mostBuffers }: AdapterFacts,
): WgslPlan | null {
  if (kernel.kind === 'pointwise') {
    const fits = inputs.length + outputs.length <= mostBuffers;
    return fits ? pointwisePlan(kernel.expr)(inputs, outputs, attrs) : null;
  }
  if (kernel.kind === 'fused') {
    return { scratch: [], stages: [pointwiseStage([fusedBody(kernel.body, inputs, outputs)])] };
  }
  if (kernel.kind === 'staged') {
    const counts = { operands: inputs.length, results: outputs.length };
    return productPlan(productBodyOf(kernel.body, inputs, counts), inputs, outputs);
  }
  if (kernel.kind === 'list') return listPlan(kernel.body, inputs, outputs, mostBuffers);
  if (kernel.kind !== 'named') return null;
  return wgslKernels.get(kernel.name)?.plan(inputs, outputs, attrs) ?? null;
}

/** Copies elements from one layout to another. */
export function copyPlan(from: TensorMeta, to: TensorMeta): WgslPlan {
  return pointwisePlan(E.input(0))([from], [to], {});
}

function pointwisePlan(expr: Expr): NamedWgslPlan {
  return (inputs, [out]) => ({
    scratch: [],
    stages: [pointwiseStage([singleBody(expr, inputs, out!)])],
  });
}
