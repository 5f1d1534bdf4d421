import type { PeakLimit, Plan, Step } from '../../../runtime/program/plan.ts';
import type { ValueTable } from '../../../runtime/program/program.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';
import { SimulatedRun } from '../../../runtime/run-program/simulate/simulated-run.ts';
import { once } from '../../programs/once.ts';
import { onPath, type PlanOnPath } from './control-memory.ts';
import { DecidedPath } from './decided-path.ts';
import { type Decisions, type Explored, explorePaths } from './explore-paths.ts';
import { forwardPaths } from './forward-paths.ts';
import { type ForwardBefore, type Simulatable, simulate } from './simulate-plan.ts';
import { UniformPath } from './uniform-path.ts';
import { countPaths, fewPaths, type WorstPath, worstPath } from './worst-path.ts';

/**
 * The bytes of a plan with control ops, simulated when they are read: an estimate on uniform paths (a first plan: on
 * one of them), and the exact bytes on all paths. The estimate bounds the exact bytes from below.
 */
export class WorstCase {
  readonly #plan: Plan;
  readonly #simulatable: Simulatable;
  readonly #isFirst: boolean;
  readonly #uniform = once(() => worstUniformPath(this.#plan, this.#simulatable));
  readonly #onDefault = once(() => this.#on(new UniformPath()));
  readonly #onUniform = once(() => this.#on(new UniformPath(this.#uniform().path.chosen)));
  readonly #found = once(() => worstPathOf(this.#plan, this.#simulatable, this.#uniform()));
  readonly #onWorst = once(() => {
    const { path } = this.#found();
    return path ? this.#on(path) : this.#onUniform();
  });

  constructor(plan: Plan, simulatable: Simulatable, isFirst: boolean) {
    this.#plan = plan;
    this.#simulatable = simulatable;
    this.#isFirst = isFirst;
  }

  #on(path: Decider): PlanOnPath {
    return onPath(this.#plan, this.#simulatable, path);
  }

  /** The highest peak of the uniform paths: the plan needs at least these bytes. */
  get leastPeakBytes(): number {
    return this.#isFirst ? this.#onDefault().bytes.peakBytes : this.#uniform().peakBytes;
  }

  /** The plan on the worst uniform path. */
  get estimate(): PlanOnPath {
    return this.#isFirst ? this.#onDefault() : this.#onUniform();
  }

  /** The plan on its worst path. */
  get worst(): PlanOnPath {
    return this.#onWorst();
  }

  get peakBytes(): number {
    return this.worst.bytes.peakBytes;
  }

  /** Why a run may need more. */
  get mayExceed(): readonly PeakLimit[] {
    const { plan } = this.#simulatable.after ?? { plan: this.#plan };
    const { isComplete, isGrowing } = this.#found();
    return [
      ...(isComplete ? [] : (['paths'] as const)),
      ...(isGrowing || hasStep(plan, isRecordedLoop) ? (['iterations'] as const) : []),
      ...(hasStep(plan, ({ call }) => call !== undefined) ? (['shapes'] as const) : []),
    ];
  }
}

/** The most steps to simulate to find paths on which ops decide differently each time they run. */
const mostSteps = 6_000;

function worstUniformPath(plan: Plan, simulatable: Simulatable): WorstPath {
  const { values, entering, after } = simulatable;
  if (!after) return worstPath(forwardPaths(plan, values, entering));
  return worstPath((path) => bytesOn(path, plan, simulatable));
}

function bytesOn(path: Decider, plan: Plan, simulatable: Simulatable) {
  const run = new SimulatedRun(simulatable.values, path);
  const bytes = simulate(run, plan, simulatable);
  run.end();
  return bytes;
}

interface FoundPath extends Pick<Explored, 'isComplete' | 'isGrowing'> {
  /** Null: the uniform path. */
  readonly path: Decider | null;
}

/** Finds the worst path. */
function worstPathOf(plan: Plan, simulatable: Simulatable, uniform: WorstPath): FoundPath {
  const { values, entering, after } = simulatable;
  const forward = after ?? { plan, entering };
  if (!hasStep(forward.plan, isSteadyLoop) && countPaths(uniform.path) <= fewPaths) {
    return { path: null, isComplete: true, isGrowing: false };
  }
  const explored = exploredPaths(forward, values, uniform.path);
  const { isGrowing } = explored;
  if (!explored.isComplete) return { path: null, isComplete: false, isGrowing };
  const decided = (decisions: Decisions) =>
    new DecidedPath(decisions, new UniformPath(uniform.path.chosen));
  let { peakBytes } = uniform;
  let worst: Decisions | null = null;
  let spent = 0;
  let isComplete = true;
  for (const decisions of after ? explored.ends : [explored.decisions]) {
    if (spent > mostSteps) {
      isComplete = false;
      break;
    }
    const bytes = bytesOn(decided(decisions), plan, simulatable);
    spent += bytes.steps;
    if (bytes.peakBytes <= peakBytes) continue;
    peakBytes = bytes.peakBytes;
    worst = decisions;
  }
  return { path: worst && decided(worst), isComplete, isGrowing };
}

const explorations = new WeakMap<readonly Step[], Explored>();

/** Explorations that ended early, so that a program with too many paths is explored once for all of its plans. */
const unfinished = new WeakMap<ValueTable, Explored>();

/**
 * Plans of a program with too many paths are compared by their uniform paths alone. The backwards of a forward plan
 * start with the memory that forward ends with.
 */
function exploredPaths(
  { plan, entering }: Pick<ForwardBefore, 'plan' | 'entering'>,
  values: ValueTable,
  usual: UniformPath,
): Explored {
  const known = explorations.get(plan.steps) ?? unfinished.get(values);
  if (known) return known;
  const explored = explorePaths(plan, values, entering, usual, mostSteps);
  if (explored.isComplete) explorations.set(plan.steps, explored);
  else unfinished.set(values, explored);
  return explored;
}

/** Whether a plan has such a step, also in a region. */
function hasStep({ steps }: Plan, isSuch: (step: Step) => boolean): boolean {
  return steps.some(
    (step) => isSuch(step) || step.regions?.some(({ forward }) => hasStep(forward, isSuch)),
  );
}

const isLoop = ({ op }: Step): boolean => op.op.name === 'while';
const isRecordedLoop = (step: Step): boolean => isLoop(step) && step.regions![1]!.backward !== null;
/** Whether a loop saves nothing of its iterations for backward. */
const isSteadyLoop = (step: Step): boolean => isLoop(step) && !isRecordedLoop(step);
