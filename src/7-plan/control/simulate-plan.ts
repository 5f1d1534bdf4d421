import type { BackwardPart, Plan } from '../../../runtime/program/plan.ts';
import type { ValueTable } from '../../../runtime/program/program.ts';
import type {
  EnteringAlone,
  RunBytes,
  SimulatedRun,
  StepObserver,
} from '../../../runtime/run-program/simulate/simulated-run.ts';

/** A program to simulate, with the program that runs before it. */
export interface Simulatable {
  readonly values: ValueTable;
  readonly entering: EnteringAlone;
  /** For a backward program: the forward plan whose scope it continues in. */
  readonly after: ForwardBefore | null;
}

export interface ForwardBefore {
  readonly plan: Plan;
  /** The gradient of each output that enters the backward program. */
  readonly gradOutputs: BackwardPart['gradOutputs'];
  readonly entering: EnteringAlone;
}

/** Runs a plan on counting devices, after the plans that precede it. */
export function simulate(
  run: SimulatedRun,
  plan: Plan,
  { entering, after }: Simulatable,
  observer?: StepObserver,
): RunBytes {
  if (!after) return run.forward(plan, entering, observer);
  run.forward(after.plan, after.entering);
  return run.backward(plan, entering, after.gradOutputs, observer);
}
