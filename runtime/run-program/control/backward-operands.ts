import type { Step } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import { GradientSum } from './gradients.ts';
import { movedOperands } from './moved-operands.ts';

/** The operands and results of a control op's backward. */
interface BackwardOperands {
  readonly tape: ValueId;
  /** Whether another backward may read the tape. */
  readonly keeps: boolean;
  /** Gradients of the results `of`, and whether the reference of each moves inside. */
  readonly given: readonly ValueId[];
  readonly of: readonly number[];
  readonly moved: readonly boolean[];
  /** Sums of the gradients of the operands `to`. */
  readonly to: readonly number[];
  readonly sums: readonly GradientSum[];
}

export function backwardOperands(step: Step, values: ValueTable): BackwardOperands {
  const { op, frees } = step;
  const [tape, ...given] = op.inputs;
  return {
    tape: tape!,
    keeps: !frees.includes(tape!),
    given,
    of: op.attrs.of as readonly number[],
    moved: movedOperands(step).slice(1),
    to: op.attrs.to as readonly number[],
    sums: op.outputs.map((id) => new GradientSum(values[id]!)),
  };
}
