import type { LostHistory } from '../../runtime/autograd/lost-history.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type { Program } from '../../runtime/program/program.ts';
import { differentiate } from './differentiate.ts';

/**
 * Why each output of a program has no backward, where the program writes over values that it would need; null for the
 * others. A backward that reaches such an output throws what eager execution throws, so it is a mistake only of code
 * that requests one. Null instead of the list if the program has branches or loops, on whose path it may depend what is
 * overwritten.
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
