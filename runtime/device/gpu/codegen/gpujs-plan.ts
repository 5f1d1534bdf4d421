/** The gpu.js kernels of an op. */

import { InvariantError } from '../../../errors/invariant.ts';
import { type Attrs, isComposite, type KernelOp } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { KernelPlan } from '../core/kernel-plan.ts';
import { gpuKernels, isHostKernel, isRandomKernel } from './kernels.ts';
import { attrsInSource, pointwisePlan } from './pointwise.ts';
import { userKernelPlan } from './user-kernel.ts';

/** Returns the attributes that are part of an op's kernels, null for all; the others are arguments. */
export function attrsOfKernel({ kernel }: KernelOp): readonly string[] | null {
  if (kernel.kind === 'pointwise') return attrsInSource(kernel.expr);
  if (isComposite(kernel)) return [];
  if (kernel.kind !== 'named') return null;
  return kernel.name === 'fill' || isRandomKernel(kernel.name) ? [] : null;
}

export function hasGpuJsKernel({ kernel }: KernelOp): boolean {
  return kernel.kind !== 'named' || isHostKernel(kernel.name) || !!gpuKernels[kernel.name];
}

export function planFor(
  op: KernelOp,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): KernelPlan {
  const { kernel } = op;
  if (kernel.kind === 'user') return userKernelPlan(kernel.kernel.code, inputs, outputs[0]!);
  if (kernel.kind === 'pointwise') return pointwisePlan(kernel.expr, inputs, outputs[0]!, attrs);
  const plan =
    kernel.kind === 'named' && !isHostKernel(kernel.name) ? gpuKernels[kernel.name] : null;
  if (!plan) throw new InvariantError(`${op.name}: a ${kernel.kind} op without a kernel`);
  return plan(inputs, outputs, attrs);
}
