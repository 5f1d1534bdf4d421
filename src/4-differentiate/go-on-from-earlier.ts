import { contiguousMeta, isContiguousMeta } from '../../runtime/device/tensor-meta.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import { copy } from '../../runtime/ops/core/copy.ts';
import { isGradientSum } from '../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';

/** Gradients of a region's operands, with the inputs that receive the partial sums. */
interface Gradients {
  readonly program: Program;
  readonly earlier: readonly (ValueId | null)[];
  readonly gradInputs: readonly (ValueId | null)[];
}

/**
 * In: a differentiated region in which each gradient continues from an input with the partial sum. Out: the same region
 * without such inputs for gradients with a single contribution, which the owner of the sum can add just as well. All
 * gradients are contiguous.
 */
export function dropNeedlessSums({ program, earlier, gradInputs }: Gradients): Gradients {
  const values = [...program.values];
  let ops: readonly ProgramOp[] = program.ops;
  const needed = [...earlier];
  const gradients = [...gradInputs];
  earlier.forEach((id, i) => {
    if (id === null) return;
    const users = ops.filter(({ inputs }) => inputs.includes(id));
    const found = gradients[i];
    const [sum] = users;
    const isAlone = found === id || users.length === 0;
    const isOne = users.length === 1 && isGradientSum(sum!.op) && sum!.outputs[0] === found;
    if (!isAlone && !isOne) return;
    needed[i] = null;
    gradients[i] = null;
    if (isAlone) return;
    ops = ops.filter((op) => op !== sum);
    const part = sum!.inputs.find((input) => input !== id);
    invariant(part !== undefined, 'a gradient is not added to itself');
    const meta = values[part]!;
    if (isContiguousMeta(meta)) {
      gradients[i] = part;
      return;
    }
    const whole = (values.push(contiguousMeta(meta, meta.device)) - 1) as ValueId;
    ops = [...ops, { ...sum!, op: copy, inputs: [part], outputs: [whole], attrs: {} }];
    gradients[i] = whole;
  });
  const dropped = new Set(earlier.filter((id, i) => id !== null && needed[i] === null));
  const inputs = program.inputs.filter((id) => !dropped.has(id));
  const outputs = gradients.filter((id) => id !== null);
  return { program: { values, inputs, ops, outputs }, earlier: needed, gradInputs: gradients };
}
