import type { Holder } from '../../../runtime/device/holder.ts';
import type { Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { movedOperands } from '../../../runtime/run-program/control/moved-operands.ts';
import type { Slot } from '../../../runtime/run-program/scope/scope.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';
import {
  heldBy,
  type RunBytes,
  SimulatedRun,
  type StepObserver,
} from '../../../runtime/run-program/simulate/simulated-run.ts';
import { type Simulatable, simulate } from './simulate-plan.ts';

/** The memory that one control op uses on one path, for ordering the ops. */
export interface ControlMemory {
  /** Bytes that the op allocates and frees while it runs, besides its outputs; negative if it frees operands first. */
  readonly scratch: number;
  /** Scratch bytes in any order of the surrounding ops: operands that die here may have been freed before. */
  readonly leastScratch: number;
  /** Bytes of each output; 0 if its memory existed before the op. */
  readonly made: readonly number[];
  /** Indices of the operands that the op's tape keeps live. */
  readonly held: readonly number[];
}

export interface PlanOnPath {
  readonly bytes: RunBytes;
  readonly control: ReadonlyMap<ProgramOp, ControlMemory>;
  /** The bytes that only a tape owns after the run. */
  readonly tapes: ReadonlyMap<ValueId, number>;
}

export function onPath(plan: Plan, simulatable: Simulatable, path: Decider): PlanOnPath {
  const control = new Map<ProgramOp, ControlMemory>();
  const observer: StepObserver = (i, slots, run, simulation) => {
    const step = plan.steps[i]!;
    const { inputs, outputs } = step.op;
    const before = holdersIn(slots);
    // A missing gradient takes no memory.
    const operands = inputs.map((id) => slots[id]!.holder);
    const most = simulation.peakIncrease(run);
    const producedBytes = madeBy(step.op, slots, before, bytesOf);
    const scratch = most - producedBytes.reduce(plus, 0);
    const moves = movedOperands(step);
    const mayGo = operands
      .map((each, k) => (moves[k] || !each ? 0 : bytesOf(each)))
      .reduce(plus, 0);
    const last = slots[outputs.at(-1)!]?.holder;
    const onTape = last ? heldBy(last) : new Set<Holder>();
    control.set(step.op, {
      scratch,
      leastScratch: scratch - mayGo,
      made: producedBytes,
      held: operands.flatMap((each, k) => (each && onTape.has(each) ? [k] : [])),
    });
  };
  const run = new SimulatedRun(simulatable.values, path);
  const bytesOf = (holder: Holder) => run.bytesOf(holder);
  const bytes = simulate(run, plan, simulatable, observer);
  const found = { bytes, control, tapes: run.tapes() };
  run.end();
  return found;
}

const plus = (a: number, b: number) => a + b;

function holdersIn(slots: readonly Slot[]): Set<Holder> {
  const holders = new Set<Holder>();
  for (const { holder } of slots) if (holder) holders.add(holder);
  return holders;
}

/**
 * Returns the bytes of the memory allocated by the op, each attributed to the first output that owns it; a tape's
 * memory is attributed to the tape.
 */
function madeBy(
  { outputs }: ProgramOp,
  slots: readonly Slot[],
  before: ReadonlySet<Holder>,
  bytesOf: (holder: Holder) => number,
): number[] {
  const known = new Set(before);
  for (const each of before) for (const held of heldBy(each)) known.add(held);
  const count = (each: Holder): number => {
    if (known.has(each)) return 0;
    known.add(each);
    return bytesOf(each);
  };
  return outputs.map((id) => {
    const { holder } = slots[id]!;
    if (!holder) return 0;
    return [holder, ...heldBy(holder)].map(count).reduce(plus, 0);
  });
}
