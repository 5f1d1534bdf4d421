import type { Expr } from '../../../ops/expr/expr.ts';
import { type FusedBody, fusedAttr } from '../../../ops/expr/fused-body.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { input, output } from '../core/kernel-plan.ts';
import type { PointwiseBody } from './pointwise-kernel.ts';

/** Returns one op as a body of one part that computes output 0. */
export function singleBody(
  expr: Expr,
  inputs: readonly TensorMeta[],
  out: TensorMeta,
): PointwiseBody {
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

export function fusedBody(
  body: FusedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): PointwiseBody {
  return {
    body,
    inputs: inputs.map((meta, i) => ({ slot: input(i), meta })),
    outputs: outputs.map((meta, i) => ({ slot: output(i), meta })),
    attr: fusedAttr,
  };
}
