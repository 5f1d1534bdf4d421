import { type LostHistory, losingHistory } from '../../runtime/autograd/lost-history.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { differentiate } from './differentiate.ts';

/**
 * Returns, for each output, why it has no backward, if the program overwrites values that backward would need;
 * otherwise null. A backward that reaches such an output throws the same error as eager execution, so only code that
 * requests it is wrong. Returns null instead of the list if the program has branches or loops, since what is
 * overwritten may depend on the path.
 */
export function lostHistories(
  program: Program,
  needsGrad: readonly boolean[],
  differentiable: readonly boolean[],
): readonly (LostHistory | null)[] | null {
  if (program.ops.some(({ regions }) => regions)) return null;
  const errorOf = (isRequested: (output: number) => boolean): LostHistory | null => {
    try {
      const requested = differentiable.map((flows, i) => flows && isRequested(i));
      differentiate(program, needsGrad, requested);
      return null;
    } catch (error) {
      if (!(error instanceof AutogradError)) throw error;
      const { message, given, expected, remedy } = error;
      return { what: message.split('\n', 1)[0]!, given, expected, remedy };
    }
  };
  return differentiable.map((_, output) => errorOf((i) => i === output));
}

/**
 * Returns a function that gives a run's outputs in `lost` histories without a backward. Requesting the gradient of an
 * output that they may depend on reaches such a history, too.
 */
export function losingOutputs(
  program: Program,
  lost: readonly (LostHistory | null)[],
): (outputs: readonly Tensor[], inputs: readonly Tensor[]) => void {
  const definedAt = new Map(program.ops.flatMap(({ outputs }, i) => outputs.map((id) => [id, i])));
  const madeAt = (output: number) => definedAt.get(program.outputs[output]!) ?? -1;
  const all = lost.flatMap((why, output) => {
    if (why === null) return [];
    const { inputs, outputs } = behind(program, output);
    const earlier = outputs.filter((other) => madeAt(other) < madeAt(output));
    return [{ output, lose: losingHistory(why), inputs, earlier }];
  });
  all.sort((a, b) => madeAt(a.output) - madeAt(b.output));
  return (outputs, inputs) => {
    for (const { output, lose, earlier, inputs: from } of all) {
      lose(outputs[output]!, [...from.map((i) => inputs[i]!), ...earlier.map((i) => outputs[i]!)]);
    }
  };
}

/**
 * Returns the indices of the inputs and of the other outputs that an output may depend on, including through in-place
 * writes to memory that it was computed from. Other writes, such as adding to the gradients of leaves, don't count.
 */
function behind({ ops, inputs, outputs }: Program, output: number) {
  const groups = new ValueGroups(ops, 'memory');
  const found = new Set<ValueId>();
  const reached = new Set<ValueId>();
  const add = (id: ValueId) => {
    found.add(id);
    reached.add(groups.of(id));
  };
  add(outputs[output]!);
  for (const op of [...ops].reverse()) {
    const writes = writtenOperands(op).some((i) => reached.has(groups.of(op.inputs[i]!)));
    if (writes || op.outputs.some((id) => found.has(id))) for (const id of op.inputs) add(id);
  }
  const indices = (ids: readonly ValueId[]) => ids.flatMap((id, i) => (found.has(id) ? [i] : []));
  return { inputs: indices(inputs), outputs: indices(outputs) };
}
