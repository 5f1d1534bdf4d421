import type { Attrs } from '../../device/kernel-op.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import { attrProblem } from '../../ops/record/attr-rules.ts';
import type { OpRecord } from '../../ops/record/define-op.ts';
import type { Fail } from './verify-failure.ts';

/** Verifies that attributes match the op's declaration and meet the kernels' assumptions beyond shapes and dtypes. */
export function verifyAttrs(
  op: OpRecord,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  fail: Fail,
): void {
  const rank = Math.max(0, ...[...inputs, ...outputs].map(({ shape }) => shape.length));
  const problem = attrProblem(op.attrs ?? {}, attrs, rank);
  if (problem) fail(`${problem.name}=${JSON.stringify(problem.given)}`, problem.expected);
  const expected = op.fits?.(inputs, attrs) ?? true;
  if (expected !== true) fail('operands and attributes that its kernel rejects', expected);
}
