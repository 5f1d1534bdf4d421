import { formatSpec, sameSpec, type TensorSpec } from '../../tensor/meta.ts';
import { formatShape, sameShape } from '../../tensor/shape.ts';
import type { ProgramOp, ValueTable } from '../program.ts';
import type { Fail } from '../verify-failure.ts';
import { resultOf, shapeOf } from './fused-op.ts';

/** Holds that every part of a fused op infers what its value is declared as, and that all run over one shape. */
export function verifyParts({ parts = [] }: ProgramOp, values: ValueTable, fail: Fail): void {
  const shape = shapeOf(parts[0]!, values);
  for (const part of parts) {
    const declared: TensorSpec = values[resultOf(part)]!;
    const given = part.inputs.map((id) => values[id]!);
    const [inferred] = part.op.infer(given, part.attrs);
    if (!inferred || !sameSpec(inferred, declared)) {
      fail(`${part.op.name} with result ${formatSpec(declared)}`, 'what the operator infers');
    }
    if (!sameShape(declared.shape, shape)) {
      fail(`a part over ${formatShape(declared.shape)}`, `one over ${formatShape(shape)}`);
    }
  }
}
