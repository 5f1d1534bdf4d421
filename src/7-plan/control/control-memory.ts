import type { Holder } from '../../../runtime/device/holder.ts';
import type { BackwardPart, Plan } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { movedOperands } from '../../../runtime/run-program/control/moved-operands.ts';
import type { Slot } from '../../../runtime/run-program/scope/scope.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';
import {
  type EnteringAlone,
  heldBy,
  type RunBytes,
  SimulatedRun,
  type StepObserver,
} from '../../../runtime/run-program/simulate/simulated-run.ts';
import { DecidedPath } from './decided-path.ts';
import { type Decisions, type Explored, explorePaths } from './explore-paths.ts';
import { forwardPaths } from './forward-paths.ts';
import { UniformPath } from './uniform-path.ts';
import { countPaths, fewPaths, worstPath } from './worst-path.ts';

/** The memory that one control op uses on one path, for ordering the ops. */
export interface ControlMemory {
  /**
   * Bytes that the op allocates and frees while it runs, beside its outputs; negative if operands are freed before.
   */
  readonly scratch: number;
  /** Scratch bytes in any order of the surrounding ops: operands that die here may have been freed before. */
  readonly leastScratch: number;
  /** Bytes of each output; 0 if its memory existed before. */
  readonly made: readonly number[];
  /** Indices of the operands that the op's tape holds. */
  readonly held: readonly number[];
}

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

/** Runs a plan on counting devices, after the plans that come before it. */
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

/**
 * The steps simulated to find paths on which ops decide differently each time they run. Ten times as many double the
 * time in which a sort of a few values is compiled.
 */
const mostSteps = 600;

/** Returns the decisions of the worst path, for any number of runs. */
function worstPathOf(plan: Plan, simulatable: Simulatable): () => Decider {
  const { values, entering, after } = simulatable;
  const bytesOn = (path: Decider) => {
    const run = new SimulatedRun(values, path);
    const bytes = simulate(run, plan, simulatable);
    run.end();
    return bytes;
  };
  const uniform = after ? worstPath(bytesOn) : worstPath(forwardPaths(plan, values, entering));
  const decided = (decisions: Decisions) => () =>
    new DecidedPath(decisions, new UniformPath(uniform.chosen));
  const forward = after ?? { plan, entering };
  let worst: () => Decider = () => new UniformPath(uniform.chosen);
  if (!hasSteadyLoop(forward.plan) && countPaths(uniform) <= fewPaths) return worst;
  let { peakBytes } = bytesOn(worst());
  const explored = exploredPaths(forward, values, uniform);
  if (!explored) return worst;
  let spent = 0;
  for (const decisions of after ? explored.ends : [explored.decisions]) {
    if (spent > mostSteps) break;
    const bytes = bytesOn(decided(decisions)());
    spent += bytes.steps;
    if (bytes.peakBytes <= peakBytes) continue;
    peakBytes = bytes.peakBytes;
    worst = decided(decisions);
  }
  return worst;
}

const explorations = new WeakMap<Plan, Explored>();

/** Those of programs with more paths than are explored, which is found out once for all plans of a program. */
const unexplored = new WeakSet<ValueTable>();

/**
 * Returns null if the program has too many paths: its plans are then compared by their uniform paths alone. The
 * backwards of a forward plan begin with the memory that it ends with.
 */
function exploredPaths(
  { plan, entering }: Pick<ForwardBefore, 'plan' | 'entering'>,
  values: ValueTable,
  usual: UniformPath,
): Explored | null {
  const known = explorations.get(plan);
  if (known) return known;
  if (unexplored.has(values)) return null;
  const explored = explorePaths(plan, values, entering, usual, mostSteps);
  if (!explored.isComplete) {
    unexplored.add(values);
    return null;
  }
  explorations.set(plan, explored);
  return explored;
}

/** Whether a loop that keeps nothing of its iterations is in a plan. */
function hasSteadyLoop({ steps }: Plan): boolean {
  return steps.some(({ op, regions = [] }) => {
    const isLoop = op.op.name === 'while' && regions[1]!.backward === null;
    return isLoop || regions.some(({ forward }) => hasSteadyLoop(forward));
  });
}

/** A plan on its worst path. */
export interface WorstCase {
  readonly bytes: RunBytes;
  readonly control: ReadonlyMap<ProgramOp, ControlMemory>;
  /** The bytes that only a tape owns after the run. */
  readonly tapes: ReadonlyMap<ValueId, number>;
}

export function worstCase(plan: Plan, simulatable: Simulatable): WorstCase {
  const decisions = worstPathOf(plan, simulatable);
  const control = new Map<ProgramOp, ControlMemory>();
  const observer: StepObserver = (i, slots, run, simulation) => {
    const step = plan.steps[i]!;
    const { inputs, outputs } = step.op;
    const before = holdersIn(slots);
    // A missing gradient takes no memory.
    const operands = inputs.map((id) => slots[id]!.holder);
    const most = simulation.excursion(run);
    const made = madeBy(step.op, slots, before, bytesOf);
    const scratch = most - made.reduce(plus, 0);
    const moves = movedOperands(step);
    const mayGo = operands
      .map((each, k) => (moves[k] || !each ? 0 : bytesOf(each)))
      .reduce(plus, 0);
    const last = slots[outputs.at(-1)!]?.holder;
    const onTape = last ? heldBy(last) : new Set<Holder>();
    control.set(step.op, {
      scratch,
      leastScratch: scratch - mayGo,
      made,
      held: operands.flatMap((each, k) => (each && onTape.has(each) ? [k] : [])),
    });
  };
  const run = new SimulatedRun(simulatable.values, decisions());
  const bytesOf = (holder: Holder) => run.bytesOf(holder);
  const bytes = simulate(run, plan, simulatable, observer);
  return { bytes, control, tapes: run.tapes() };
}

const plus = (a: number, b: number) => a + b;

function holdersIn(slots: readonly Slot[]): Set<Holder> {
  const holders = new Set<Holder>();
  for (const { holder } of slots) if (holder) holders.add(holder);
  return holders;
}

/**
 * Bytes of the memory allocated by the op, each attributed to the first output that holds it; a tape's memory is
 * attributed to the tape.
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
