import type { Plan, Step } from '../../../runtime/program/plan.ts';
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
 * The bytes of a plan with control ops, simulated as they are read: quickly on paths on which every op decides the
 * same each time it runs, of a first plan on one of them, and on all paths. The former bound the latter from below.
 */
export class WorstCase {
  readonly #plan: Plan;
  readonly #simulatable: Simulatable;
  readonly #isFirst: boolean;
  readonly #uniform = once(() => worstUniformPath(this.#plan, this.#simulatable));
  readonly #onDefault = once(() => this.#on(new UniformPath()));
  readonly #onUniform = once(() => this.#on(new UniformPath(this.#uniform().path.chosen)));
  readonly #onWorst = once(() => {
    const path = worstPathOf(this.#plan, this.#simulatable, this.#uniform());
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

  /** The highest peak of the quickly simulated paths: the plan needs at least these bytes. */
  get leastPeakBytes(): number {
    return this.#isFirst ? this.#onDefault().bytes.peakBytes : this.#uniform().peakBytes;
  }

  /** The plan on the worst of the quickly simulated paths. */
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
}

/** The steps simulated to find paths on which ops decide differently each time they run. */
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

/** Returns the worst path; null if that is the uniform one. */
function worstPathOf(plan: Plan, simulatable: Simulatable, uniform: WorstPath): Decider | null {
  const { values, entering, after } = simulatable;
  const forward = after ?? { plan, entering };
  if (!hasSteadyLoop(forward.plan) && countPaths(uniform.path) <= fewPaths) return null;
  const explored = exploredPaths(forward, values, uniform.path);
  if (!explored) return null;
  const decided = (decisions: Decisions) =>
    new DecidedPath(decisions, new UniformPath(uniform.path.chosen));
  let { peakBytes } = uniform;
  let worst: Decisions | null = null;
  let spent = 0;
  for (const decisions of after ? explored.ends : [explored.decisions]) {
    if (spent > mostSteps) break;
    const bytes = bytesOn(decided(decisions), plan, simulatable);
    spent += bytes.steps;
    if (bytes.peakBytes <= peakBytes) continue;
    peakBytes = bytes.peakBytes;
    worst = decisions;
  }
  return worst && decided(worst);
}

const explorations = new WeakMap<readonly Step[], Explored>();

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
  const known = explorations.get(plan.steps);
  if (known) return known;
  if (unexplored.has(values)) return null;
  const explored = explorePaths(plan, values, entering, usual, mostSteps);
  if (!explored.isComplete) {
    unexplored.add(values);
    return null;
  }
  explorations.set(plan.steps, explored);
  return explored;
}

/** Whether a loop that keeps nothing of its iterations is in a plan. */
function hasSteadyLoop({ steps }: Plan): boolean {
  return steps.some(({ op, regions = [] }) => {
    const isLoop = op.op.name === 'while' && regions[1]!.backward === null;
    return isLoop || regions.some(({ forward }) => hasSteadyLoop(forward));
  });
}
