import { presentView } from '../../device/symbolic-attrs.ts';
import { formatSpec, sameLayout, sameSpec, type TensorSpec } from '../../device/tensor-meta.ts';
import { resultOf } from '../fused/fused-op.ts';
import type { ProgramOp, ValueTable } from '../program.ts';
import { verifyAttrs } from './verify-attrs.ts';
import type { Fail } from './verify-failure.ts';

/** Verifies that every part of a fused op infers the declared specs and accepts its attributes. */
export function verifyParts({ parts = [] }: ProgramOp, values: ValueTable, fail: Fail): void {
  for (const part of parts) {
    if (part.parts) verifyParts(part, values, fail);
    verifyInferred(part, values, fail);
  }
}

function verifyInferred(part: ProgramOp, values: ValueTable, fail: Fail): void {
  const { op, inputs, outputs, attrs } = part;
  const operandMetas = inputs.map((id) => values[id]!);
  const results = op.inPlace ? [resultOf(part)] : outputs;
  const metas = results.map((id) => values[id]!);
  verifyAttrs(op, operandMetas, metas, attrs, fail);
  if (op.kernel.kind === 'view') {
    const shown = presentView(op, operandMetas, attrs);
    const [view] = metas;
    if (view && sameLayout(shown, view) && shown.offset === view.offset) return;
    fail(`a view of ${op.name} with other strides`, 'those of the operator');
  }
  const inferred = op.infer(operandMetas, attrs);
  metas.forEach((declared: TensorSpec, i) => {
    const spec = inferred[i];
    if (spec && sameSpec(spec, declared)) return;
    fail(`${op.name} with result ${formatSpec(declared)}`, 'what the operator infers');
  });
}
