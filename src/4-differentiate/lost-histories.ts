import { type LostHistory, losingHistory } from '../../runtime/autograd/lost-history.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type { Program } from '../../runtime/program/program.ts';
import { writtenOperands } from '../../runtime/program/writes.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { differentiate } from './differentiate.ts';

/**
 * For each output of a program: why it has no backward, if the program overwrites values that backward would need;
 * else null. A backward that reaches such an output throws what eager execution throws, so only code that requests
 * one is wrong. Returns null instead of the list if the program has branches or loops, since what is overwritten
 * may depend on the path.
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

/** Returns a function that gives an output of each run a history that can't run backward any more. */
export function losingOutput(
  program: Program,
  output: number,
  why: LostHistory,
): (outputs: readonly Tensor[], inputs: readonly Tensor[]) => void {
  const lose = losingHistory(why);
  const from = inputsBehind(program, output);
  return (outputs, inputs) => {
    lose(
      outputs[output]!,
      from.map((i) => inputs[i]!),
    );
  };
}

/** Returns the indices of the inputs that an output may depend on; what is written in place may be part of it. */
function inputsBehind({ ops, inputs, outputs }: Program, output: number): number[] {
  const behind = new Set([outputs[output]!]);
  for (const op of [...ops].reverse()) {
    const leads = op.outputs.some((id) => behind.has(id)) || writtenOperands(op).length > 0;
    if (leads) for (const id of op.inputs) behind.add(id);
  }
  return inputs.flatMap((id, i) => (behind.has(id) ? [i] : []));
}
