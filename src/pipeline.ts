import { invariant } from '../runtime/errors/invariant.ts';
import type { ScalarTable } from '../runtime/ops/numbers/symbolic-number.ts';
import type { JointProgram, Program, ProgramOp, ValueId } from '../runtime/program/program.ts';
import { scalarTableOf } from '../runtime/program/scalars.ts';
import { verifyProgram } from '../runtime/program/verify/verify.ts';
import { differentiate } from './4-differentiate/differentiate.ts';
import { renumber } from './5-optimize/cleanup/normalize.ts';
import { compactedInputs, compactViews } from './5-optimize/compact-views.ts';
import type { PassName } from './5-optimize/passes.ts';
import { placedInArena } from './7-plan/arena/place-in-arena.ts';
import { roughBytes } from './7-plan/plan.ts';
import { rememberSource } from './check/sources.ts';
import { besideNoBudget, viewsOfLarger } from './compile/beside-no-budget.ts';
import { isBetter, isLeaner, keepsLess } from './compile/compare-stages.ts';
import {
  type Candidate,
  Compilation,
  type CompileOptions,
  defaultCompileOptions,
} from './compile/compilation.ts';
import { withHigherOrderGradients } from './compile/higher-order-gradients.ts';
import { withKnownChoices } from './compile/known-choices.ts';
import { type Ownership, SubgraphPlanner } from './compile/subgraph-planner.ts';
import { cheaper } from './compile/within-budget.ts';
import type { Choices } from './programs/choices.ts';
import type { MemoryOptions } from './programs/memory-options.ts';
import type { SubgraphStages } from './programs/stages.ts';
import { finish, type Steps } from './programs/steps.ts';

/** The inputs and outputs of a program that are differentiated. */
export interface Differentiation {
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
  tracedProgram: Program,
  { needsGrad, differentiable }: Differentiation,
  options: CompileOptions = defaultCompileOptions,
  donated: readonly number[] = [],
): SubgraphStages {
  return finish(compileInSteps(tracedProgram, { needsGrad, differentiable }, options, donated));
}

/** Runs the pipeline in steps of a few milliseconds, between which the caller may do other work. */
function* compileInSteps(
  tracedProgram: Program,
  { needsGrad, differentiable }: Differentiation,
  options: CompileOptions,
  donated: readonly number[] = [],
): Steps<SubgraphStages> {
  const wanted = { needsGrad, differentiable };
  const compile = decidingAlike(tracedProgram, compileSubgraph);
  const subject = { program: tracedProgram, wanted, options, donated };
  const made = yield* withKnownChoices(subject, (choices) =>
    besideNoBudget(options, choices, (by, own) =>
      stagesOf(tracedProgram, wanted, by, donated, own),
    ),
  );
  const stages = { ...made, planned: finished(made, options) };
  return rememberSource(stages, { program: tracedProgram, wanted, options, donated, compile });
}

/** Lays out the arena, and says which backend runs the programs, and whether a pass has changed what runs. */
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

/**
 * Compiles a program again with other options, in steps that may run much later. Device scalars of the
 * first run are used again.
 */
export function compileLater(
  program: Program,
  wanted: Differentiation,
  options: CompileOptions,
  donated: readonly number[] = [],
): Steps<SubgraphStages> {
  const steps = compileInSteps(program, wanted, options, donated);
  const table = scalarTableOf(opsWithin(program));
  return table ? decidingAlikeInSteps(table, table.inputs(), steps) : steps;
}

function* decidingAlikeInSteps<T>(
  table: ScalarTable,
  numbers: readonly number[],
  steps: Steps<T>,
): Steps<T> {
  for (;;) {
    const { done, value } = table.withInputs(numbers, () => steps.next()).result;
    if (done) return value;
    yield;
  }
}

/** Gradient rules may depend on numbers of a run: compiling again uses those of the first time. */
function decidingAlike(program: Program, compile: typeof compileSubgraph): typeof compileSubgraph {
  const table = scalarTableOf(opsWithin(program));
  if (!table) return compile;
  const numbers = table.inputs();
  return (...given) => table.withInputs(numbers, () => compile(...given)).result;
}

function opsWithin({ ops }: Program): ProgramOp[] {
  return ops.flatMap((op) => [
    op,
    ...(op.regions ?? []).flatMap((each) => opsWithin(each.program)),
  ]);
}

function* stagesOf(
  tracedProgram: Program,
  wanted: Differentiation,
  options: CompileOptions,
  donated: readonly number[],
  choices: Choices,
): Steps<SubgraphStages> {
  const compilation = new Compilation(options, choices);
  const { compact = [], memory } = options;
  const traced = renumber(optimized(compilation, 'traced', tracedProgram));
  const owned = {
    donated: new Set(donated.map((i) => traced.inputs[i]!)),
    inputs: (i: number) => compact.includes(traced.inputs[i]!),
  };
  function* copying(by: Compilation, views: readonly ValueId[]): Steps<SubgraphStages> {
    const { program, original } = compactViews(traced, views);
    verifyProgram(program);
    yield;
    const stages = yield* differentiated(by, program, wanted, owned);
    if (views.length === 0) return stages;
    const compacted = compactedInputs(stages, views, original);
    return { ...stages, original, planned: { ...stages.planned, compacted } };
  }
  const stages = yield* copying(compilation, compact);
  if (!memory.compactViews || memory.budget !== null || compilation.isFirst) return stages;
  const views = viewsOfLarger(stages);
  if (views.length === 0) return stages;
  const compacted = yield* copying(new Compilation(options, choices), [...compact, ...views]);
  return keepsLess(compacted, stages) ? compacted : stages;
}

/** Phases 4 to 7, with masks in bits where these need fewer bytes than others: packing them takes some besides both. */
function* differentiated(
  compilation: Compilation,
  traced: Program,
  wanted: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages> {
  const { memory, choices } = compilation;
  if (memory.savedMasks !== 'bits') return yield* savingBest(compilation, traced, wanted, owned);
  const asBytes = () => savingBest(compilation.with({ savedMasks: true }), traced, wanted, owned);
  const asBits = () => savingBest(compilation, traced, wanted, owned);
  const known = choices.of('masks', (choice) => choice.oneOf(['bits', 'bytes']));
  if (known) return yield* known === 'bits' ? asBits() : asBytes();
  const inBytes = yield* compilation.candidate(asBytes);
  const inBits = yield* compilation.candidate(asBits);
  const areBits = isLeaner(inBits.made, inBytes.made);
  const { made, take } = areBits ? inBits : inBytes;
  choices.note('masks', areBits ? 'bits' : 'bytes');
  take();
  return made;
}

/** Smaller values are saved in place of others only if the planned program needs fewer bytes with them. */
function* savingBest(
  compilation: Compilation,
  traced: Program,
  wanted: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages> {
  const { choices } = compilation;
  const whole = () => onlyPlan(split(compilation, traced, wanted, owned));
  const without = (names: readonly SavingLess[], known?: SubgraphStages) => {
    const off = Object.fromEntries(
      names.map((name) => [name, name === 'savedDtype' ? null : false]),
    );
    return split(compilation.with(off, known && shareOf(known)), traced, wanted, owned);
  };
  const known = choices.of('saved', (choice) =>
    choice.items().map((name) => name.oneOf(savingLess)),
  );
  if (known) return yield* known.length === 0 ? whole() : onlyPlan(without(known));
  const all = yield* compilation.candidate(whole);
  const take = (names: readonly SavingLess[], { made, take }: Candidate<SubgraphStages>) => {
    choices.note('saved', names);
    take();
    return made;
  };
  const applied = savingLess.filter((name) => all.made.passes[name]?.applied);
  if (applied.length === 0) return take([], all);
  // Where nothing is repeated, there is nothing to gain without them.
  if (isFree(all.made)) return take([], all);
  let off: readonly SavingLess[] = [];
  let best = all;
  const alone = applied.length > 1 ? applied : [];
  const kept = [null, ...alone];
  for (const name of kept) {
    const others = savingLess.filter((other) => other !== name);
    const { made } = best;
    const other = yield* compilation.candidateBelow(() => without(others, made));
    if (!other) continue;
    // Without a budget they are taken only where they are better than none of them: the peak doesn't rise.
    const isTaken =
      name || made.recompute ? isBetter(other.made, made) : !isBetter(made, other.made);
    if (isTaken) [off, best] = [others, other];
  }
  return take(off, best);
}

/** The plan of a candidate that isn't compared with another one. */
function* onlyPlan(steps: Steps<SubgraphStages | null>): Steps<SubgraphStages> {
  const stages = yield* steps;
  invariant(stages !== null, 'a candidate without others was not planned');
  return stages;
}

type SavingLess = PassName & keyof MemoryOptions;

/** Passes that save smaller values in place of others, each with a memory option of its name. */
const savingLess: readonly SavingLess[] = ['savedMasks', 'savedDtype', 'recomputeScores'];

/** Without gradients the program is not split. Null: another candidate is as cheap. */
function* split(
  compilation: Compilation,
  traced: Program,
  { needsGrad, differentiable }: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages | null> {
  if (!differentiable.includes(true)) return yield* planWhole(compilation, traced, owned);
  const complete = compilation.phase('differentiate', () =>
    differentiate(traced, needsGrad, differentiable),
  );
  yield;
  const joint = yield* optimizedJoint(compilation, complete);
  if (joint.gradOutputs.every((id) => id === null)) {
    return yield* planWhole(compilation, traced, owned);
  }
  const planner = new SubgraphPlanner(compilation);
  const stages = yield* compilation.inSteps('plan', () =>
    planner.trainingWithin(traced, joint, owned),
  );
  if (!stages) return null;
  const { options } = compilation;
  return withHigherOrderGradients(
    counted(compilation, stages),
    needsGrad,
    options,
    compileSubgraph,
  );
}

/** A program without a backward of its own. If a budget makes slices expensive, it is also planned without them. */
function* planWhole(
  compilation: Compilation,
  traced: Program,
  owned: Ownership,
): Steps<SubgraphStages | null> {
  function* planned(by: Compilation): Steps<SubgraphStages | null> {
    const planner = new SubgraphPlanner(by);
    const stages = yield* by.inSteps('plan', () => planner.inferenceWithin(traced, owned));
    return stages && counted(by, stages);
  }
  const { memory, choices } = compilation;
  const withoutSlices = (below?: number) => planned(compilation.with({ slices: false }, below));
  if (!memory.slices || memory.budget === null) return yield* planned(compilation);
  const known = choices.of('sliced', (choice) => ({
    isSliced: choice.get('isSliced').boolean(),
    bytesBefore: choice.get('bytesBefore').int(0, Number.MAX_SAFE_INTEGER),
  }));
  if (known) {
    const stages = yield* onlyPlan(known.isSliced ? planned(compilation) : withoutSlices());
    const bytesBefore = () => known.bytesBefore;
    return { ...stages, recompute: { ...stages.recompute!, bytesBefore } };
  }
  const sliced = yield* compilation.candidateBelow(() => planned(compilation));
  let best = sliced;
  if (compilation.passes.slices?.applied && !(sliced && isFree(sliced.made))) {
    const below = sliced ? shareOf(sliced.made) : undefined;
    const unsliced = yield* compilation.candidateBelow(() => withoutSlices(below));
    const made = sliced && unsliced && cheaper(sliced.made, unsliced.made);
    if (unsliced && made !== sliced?.made)
      best = { made: made ?? unsliced.made, take: unsliced.take };
  }
  if (!best) return null;
  const { made, take } = best;
  choices.note('sliced', {
    isSliced: take === sliced?.take,
    get bytesBefore() {
      return made.recompute!.bytesBefore();
    },
  });
  take();
  return made;
}

/** The share of forward's arithmetic that a plan recomputes, if that is within its budget. */
function shareOf({ recompute }: SubgraphStages): number | undefined {
  return recompute && recompute.bytes <= recompute.budget ? recompute.share : undefined;
}

/** Whether a plan within a budget recomputes nothing. */
function isFree({ recompute }: SubgraphStages): boolean {
  return recompute !== null && recompute.bytes <= recompute.budget && recompute.ops === 0;
}

function counted({ passes }: Compilation, stages: SubgraphStages): SubgraphStages {
  return { ...stages, passes };
}

function optimized(compilation: Compilation, stage: 'traced', program: Program): Program {
  const given = { program, firstLate: program.ops.length, alsoRead: [] };
  return compilation.optimize(given, { ...neutral, stage, memory: compilation.memory }).program;
}

function* optimizedJoint(compilation: Compilation, joint: JointProgram): Steps<JointProgram> {
  const { program, forwardOps: firstLate, forwardOutputs: alsoRead, gradOutputs } = joint;
  const context = {
    ...neutral,
    stage: 'joint',
    memory: compilation.memory,
    gradOutputs: gradOutputs.filter((id) => id !== null).length,
    costOf: (each: Program) => roughBytes(each),
  } as const;
  // Gradient sums keep their value ids: contributions of other nodes are added to their terms.
  const read = [...alsoRead, ...joint.sums.flat()];
  const given = { program, firstLate, alsoRead: read };
  const done = yield* compilation.optimizeInSteps(given, context);
  return { ...joint, program: done.program, forwardOps: done.firstLate };
}

/** No pass of these stages compares bytes. */
const neutral = { gradOutputs: 0, costOf: () => 0 };
