import type { Attrs, OpRecord } from '../../../ops/core/define-op.ts';
import type { KernelName } from '../../../ops/core/kernel-names.ts';
import { E, type Expr } from '../../../ops/expr/expr.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { input, output } from '../kernel-plan.ts';
import { matmulPlan } from './matmul-kernel.ts';
import { type PointwiseBody, pointwiseStage } from './pointwise-kernel.ts';
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

/** One op as a body of one part. */
function singleBody(expr: Expr, inputs: readonly TensorMeta[], out: TensorMeta): PointwiseBody {
  const operands = inputs.map((_, operand) => ({ operand }));
  return {
    body: {
      shape: out.shape,
      parts: [{ expr, operands, dtype: out.dtype }],
      results: [0],
      writes: [],
    },
    inputs: inputs.map((meta, i) => ({ slot: input(i), meta })),
    outputs: [{ slot: output(0), meta: out }],
    attr: (_part, name) => name,
  };
}
