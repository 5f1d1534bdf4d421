import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { KernelPlan } from '../core/kernel-plan.ts';

/** Returns the plan of a hand-written kernel for the metas of an op's operands. */
export type NamedPlan = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
) => KernelPlan;
