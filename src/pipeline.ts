import type { JointProgram, Program } from '../runtime/program/program.ts';
import { differentiate } from './4-differentiate/differentiate.ts';
import { renumber } from './5-optimize/cleanup/normalize.ts';
import { placedInArena } from './7-plan/arena/place-in-arena.ts';
import { roughBytes } from './7-plan/plan.ts';
import { rememberSource } from './check/sources.ts';
import { choosingCompacted } from './compile/choose-compacted.ts';
import { choosingSaved } from './compile/choose-saved.ts';
import { choosingSlices } from './compile/choose-slices.ts';
import { compareWithUnbudgeted } from './compile/compare-with-unbudgeted.ts';
import {
  Compilation,
  type CompiledInput,
  type CompileOptions,
  defaultCompileOptions,
} from './compile/compilation.ts';
import { stepsWithFirstDecisions, withFirstDecisions } from './compile/first-decisions.ts';
import { withHigherOrderGradients } from './compile/higher-order-gradients.ts';
import { withKnownChoices } from './compile/known-choices.ts';
import { type Ownership, SubgraphPlanner } from './compile/subgraph-planner.ts';
import type { Choices } from './programs/choices.ts';
import type { SubgraphStages } from './programs/stages.ts';
import { finish, type Steps } from './programs/steps.ts';

/** The differentiated inputs and outputs of a program. */
interface Differentiation {
  /** Whether each input may receive a gradient. */
  readonly needsGrad: readonly boolean[];
  /** Whether each output may contribute a gradient. */
  readonly differentiable: readonly boolean[];
}

/**
 * The pipeline from a traced program to a planned one (phases 1 to 3, which make the traced program of a
 * function, are in `dispatch/frame-compiler.ts`):
 *
 *     traced program
 *       │ 5 optimize       passes of stage `traced`
 *       │ 4 differentiate  joint program, if any gradient is needed
 *       │ 5 optimize       passes of stage `joint`, or `step` for a program without a backward of its own
 *       │ 6 split          forward | backward | saved values
 *       ▼ 7 plan           order, last uses, reuse, arena, predicted bytes; within a budget if one is given
 *     planned subgraph
 *
 * In: a traced program, and the inputs and outputs that gradients may reach. Out: every stage, for printing,
 * and the planned subgraph that `run_program` executes. Guarantees: outputs, writes and gradients are bitwise
 * identical to the traced program run op by op, with any passes and memory switches. `donated` are the
 * numbers of inputs whose memory the program owns.
 */
export function compileSubgraph(
  program: Program,
  { needsGrad, differentiable }: Differentiation,
  options: CompileOptions = defaultCompileOptions,
  donated: readonly number[] = [],
): SubgraphStages {
  const requested = { needsGrad, differentiable };
  return finish(compileInSteps({ program, requested, options, donated }));
}

/**
 * Compiles a program again with other options, in steps that may run much later. Reuses the device scalars of the first
 * run.
 */
export function compileLater(
  program: Program,
  { needsGrad, differentiable }: Differentiation,
  options: CompileOptions,
  donated: readonly number[] = [],
): Steps<SubgraphStages> {
  const requested = { needsGrad, differentiable };
  const steps = compileInSteps({ program, requested, options, donated });
  return stepsWithFirstDecisions(program, steps);
}

/**
 * Runs the pipeline in steps of a few milliseconds, between which the caller may do other work. A program with
 * alternatives is planned with each of them: with and without the budget, copies of views, smaller saved values and
 * slices. The cache knows which of them was chosen before.
 */
function* compileInSteps(input: CompiledInput): Steps<SubgraphStages> {
  const { program, options } = input;
  const compile = withFirstDecisions(program, compileSubgraph);
  const chosen = yield* withKnownChoices(input, (choices) =>
    compareWithUnbudgeted(options, choices, (by, own) => stagesOf({ ...input, options: by }, own)),
  );
  const stages = { ...chosen, planned: finished(chosen, options) };
  return rememberSource(stages, { ...input, compile });
}

/** Runs phase 5 for the traced program, then the other phases for each candidate. */
function* stagesOf(input: CompiledInput, choices: Choices): Steps<SubgraphStages> {
  const { program, requested, options, donated } = input;
  const compilation = new Compilation(options, choices);
  const traced = renumber(optimizedTraced(compilation, program));
  const owned: Ownership = {
    donated: new Set(donated.map((i) => traced.inputs[i]!)),
    inputs: (i) => options.compact?.includes(traced.inputs[i]!) ?? false,
  };
  return yield* choosingCompacted(compilation, traced, (by, copying) =>
    choosingSaved(by, (by) => differentiated(by, copying, requested, owned)),
  );
}

/** Runs phases 4 to 7. A program without gradients is not split. Null if another candidate is as cheap. */
function* differentiated(
  compilation: Compilation,
  traced: Program,
  { needsGrad, differentiable }: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages | null> {
  if (!differentiable.includes(true)) return yield* plannedWhole(compilation, traced, owned);
  const complete = compilation.phase('differentiate', () =>
    differentiate(traced, needsGrad, differentiable),
  );
  yield;
  const joint = yield* optimizedJoint(compilation, complete);
  if (joint.gradOutputs.every((id) => id === null)) {
    return yield* plannedWhole(compilation, traced, owned);
  }
  const stages = yield* compilation.inSteps('plan', () =>
    new SubgraphPlanner(compilation).trainingWithin(traced, joint, owned),
  );
  if (!stages) return null;
  const { options, passes } = compilation;
  return withHigherOrderGradients({ ...stages, passes }, needsGrad, options, compileSubgraph);
}

/** Runs phases 5 and 7 for a program without a backward of its own. */
function plannedWhole(
  compilation: Compilation,
  traced: Program,
  owned: Ownership,
): Steps<SubgraphStages | null> {
  return choosingSlices(compilation, function* (by) {
    const stages = yield* by.inSteps('plan', () =>
      new SubgraphPlanner(by).inferenceWithin(traced, owned),
    );
    return stages && { ...stages, passes: by.passes };
  });
}

function optimizedTraced(compilation: Compilation, program: Program): Program {
  const staged = { program, firstLate: program.ops.length, alsoRead: [] };
  const context = { ...neutral, stage: 'traced', memory: compilation.memory } as const;
  return compilation.optimize(staged, context).program;
}

function* optimizedJoint(compilation: Compilation, joint: JointProgram): Steps<JointProgram> {
  const { program, forwardOps: firstLate, forwardOutputs: alsoRead, gradOutputs } = joint;
  const context = {
    stage: 'joint',
    memory: compilation.memory,
    gradOutputs: gradOutputs.filter((id) => id !== null).length,
    costOf: (each: Program) => roughBytes(each),
  } as const;
  // Gradient sums keep their value ids: contributions of other nodes are added to their terms.
  const read = [...alsoRead, ...joint.sums.flat()];
  const staged = { program, firstLate, alsoRead: read };
  const done = yield* compilation.optimizeInSteps(staged, context);
  return { ...joint, program: done.program, forwardOps: done.firstLate };
}

/** No pass of stage `traced` compares bytes. */
const neutral = { gradOutputs: 0, costOf: () => 0 };

/** Lays out the arena and records which backend runs the programs and whether a pass changed what runs. */
function finished({ planned, passes }: SubgraphStages, { backend, memory }: CompileOptions) {
  const isRewritten = Object.values(passes).some(({ applied }) => applied > 0);
  const { backward, values } = planned;
  const forward = backward ? planned.forward : placedInArena(planned.forward, values, memory);
  return {
    ...planned,
    forward: { ...forward, reordered: forward.reordered || isRewritten },
    ...(backend && { backend }),
  };
}
