import type { ScalarTable } from '../runtime/ops/numbers/symbolic-number.ts';
import type { JointProgram, Program, ProgramOp, ValueId } from '../runtime/program/program.ts';
import { scalarTableOf } from '../runtime/program/scalars.ts';
import { bytesOf } from '../runtime/program/value-bytes.ts';
import { verifyProgram } from '../runtime/program/verify/verify.ts';
import { differentiate } from './4-differentiate/differentiate.ts';
import { renumber } from './5-optimize/cleanup/normalize.ts';
import { compactedInputs, compactViews, savedViews } from './5-optimize/compact-views.ts';
import type { PassName } from './5-optimize/passes.ts';
import { readsMask } from './5-optimize/saved-masks.ts';
import { roughBytes } from './7-plan/plan.ts';
import { rememberSource } from './check/sources.ts';
import { Compilation, type CompileOptions, defaultCompileOptions } from './compile/compilation.ts';
import { withHigherOrderGradients } from './compile/higher-order-gradients.ts';
import { type Ownership, SubgraphPlanner } from './compile/subgraph-planner.ts';
import { cheaper, isDear, peakBytes } from './compile/within-budget.ts';
import type { MemoryOptions } from './programs/memory-options.ts';
import type { SubgraphStages } from './programs/stages.ts';
import { finish, type Steps } from './programs/steps.ts';

/** Which inputs and outputs of a program are differentiated. */
export interface Differentiation {
  /** Per input: whether it may receive a gradient. */
  readonly needsGrad: readonly boolean[];
  /** Per output: whether it may contribute a gradient. */
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

/** The same in steps of a few milliseconds, between which the caller may do other work. */
export function* compileInSteps(
  tracedProgram: Program,
  { needsGrad, differentiable }: Differentiation,
  options: CompileOptions,
  donated: readonly number[] = [],
): Steps<SubgraphStages> {
  const wanted = { needsGrad, differentiable };
  const compile = decidingAlike(tracedProgram, compileSubgraph);
  const planned = yield* stagesOf(tracedProgram, wanted, options, donated);
  const made = yield* besideNoBudget(planned, options, (free) =>
    stagesOf(tracedProgram, wanted, free, donated),
  );
  const stages = { ...made, planned: finished(made, options) };
  return rememberSource(stages, { program: tracedProgram, wanted, options, donated, compile });
}

/**
 * A budget disables masks and copies of views. Where the program could have them, it is also planned without the
 * budget: that plan is used if it fits, and its bytes are those that the budget is compared with.
 */
function* besideNoBudget(
  stages: SubgraphStages,
  options: CompileOptions,
  plan: (options: CompileOptions) => Steps<SubgraphStages>,
): Steps<SubgraphStages> {
  const { recompute } = stages;
  const { memory } = options;
  if (!recompute || recompute.isShared || recompute.bytesBefore <= recompute.budget) return stages;
  const program = stages.joint ?? stages.traced;
  const mayHaveMasks = memory.savedMasks && program.ops.some((op) => readsMask(program, op));
  const mayCopyViews = memory.compactViews && viewsOfLarger(stages).length > 0;
  if (!mayHaveMasks && !mayCopyViews) return stages;
  const free = yield* plan({ ...options, memory: { ...memory, budget: null, prefer: 'bytes' } });
  const bytesBefore = peakBytes(free);
  if (bytesBefore >= recompute.bytesBefore) return stages;
  const { budget } = recompute;
  if (bytesBefore > budget) return { ...stages, recompute: { ...recompute, bytesBefore } };
  return { ...free, recompute: { budget, bytesBefore, bytes: bytesBefore, ops: 0, share: 0 } };
}

/** Says which backend runs the programs, and whether a pass has changed what runs. */
function finished({ planned, passes }: SubgraphStages, { backend }: CompileOptions) {
  const isRewritten = Object.values(passes).some(({ applied }) => applied > 0);
  const { forward } = planned;
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
): Steps<SubgraphStages> {
  const compilation = new Compilation(options);
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
  const compacted = yield* copying(new Compilation(options), [...compact, ...views]);
  return keepsLess(compacted, stages) ? compacted : stages;
}

/** Phases 4 to 7, with masks in bits where these need fewer bytes than others: packing them takes some beside both. */
function* differentiated(
  compilation: Compilation,
  traced: Program,
  wanted: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages> {
  const { options, memory } = compilation;
  if (memory.savedMasks !== 'bits') return yield* savingBest(compilation, traced, wanted, owned);
  const asBytes = new Compilation({ ...options, memory: { ...memory, savedMasks: true } });
  const inBytes = yield* savingBest(asBytes, traced, wanted, owned);
  const inBits = yield* savingBest(compilation, traced, wanted, owned);
  return isLeaner(inBits, inBytes) ? inBits : inBytes;
}

/** Smaller values are saved in place of others only if the planned program needs fewer bytes with them. */
function* savingBest(
  compilation: Compilation,
  traced: Program,
  wanted: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages> {
  const stages = yield* split(compilation, traced, wanted, owned);
  const { options, memory } = compilation;
  const applied = savingLess.filter((name) => stages.passes[name]?.applied);
  if (applied.length === 0) return stages;
  const without = (names: typeof savingLess) => {
    const off = Object.fromEntries(
      names.map((name) => [name, name === 'savedDtype' ? null : false]),
    );
    const own = new Compilation({ ...options, memory: { ...memory, ...off } });
    return split(own, traced, wanted, owned);
  };
  let best = yield* without(savingLess);
  if (isLeaner(stages, best)) return stages;
  if (applied.length === 1) return best;
  for (const name of applied) {
    const alone = yield* without(savingLess.filter((other) => other !== name));
    if (isLeaner(alone, best)) best = alone;
  }
  return best;
}

/** Passes that save smaller values in place of others, each with a memory option of its name. */
const savingLess: readonly (PassName & keyof MemoryOptions)[] = ['savedMasks', 'savedDtype'];

/** Without gradients the program is not split. */
function* split(
  compilation: Compilation,
  traced: Program,
  { needsGrad, differentiable }: Differentiation,
  owned: Ownership,
): Steps<SubgraphStages> {
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
  return withHigherOrderGradients(
    counted(compilation, stages),
    needsGrad,
    compilation.options,
    compileSubgraph,
  );
}

/** Saved views of larger values that forward computes. */
function viewsOfLarger(stages: SubgraphStages): readonly ValueId[] {
  const { joint, forward, planned, original } = stages;
  if (!joint || !planned.backward) return [];
  const { withData } = planned.backward.saved;
  return savedViews(joint, withData, forward.outputs).flatMap(({ root, views, bytes }) => {
    const isLarger = !forward.inputs.includes(root) && bytesOf(planned.values, root) > bytes;
    return isLarger ? views.map((id) => original?.[id] ?? id) : [];
  });
}

/** Applied only if it doesn't raise the peak. */
function keepsLess(a: SubgraphStages, b: SubgraphStages): boolean {
  const keptBy = ({ planned }: SubgraphStages) => planned.forward.predicted.savedBytes;
  return keptBy(a) < keptBy(b) && peakBytes(a) <= peakBytes(b);
}

/** The same, and forward alone has no higher peak; of a program without a backward only the peak counts. */
function isLeaner(a: SubgraphStages, b: SubgraphStages): boolean {
  if (!a.planned.backward) return peakBytes(a) < peakBytes(b);
  const [own, other] = [a, b].map(({ planned }) => planned.forward.predicted.peakBytes);
  return keepsLess(a, b) && own! <= other!;
}

/** A program without a backward of its own. If a budget makes slices expensive, it is also planned without them. */
function* planWhole(
  compilation: Compilation,
  traced: Program,
  owned: Ownership,
): Steps<SubgraphStages> {
  function* planned(by: Compilation) {
    const planner = new SubgraphPlanner(by);
    const steps = by.inSteps('plan', () => planner.inferenceWithin(traced, owned));
    return counted(by, yield* steps);
  }
  const stages = yield* planned(compilation);
  const { options, memory } = compilation;
  if (!memory.slices || !isDear(stages)) return stages;
  const unsliced = yield* planned(
    new Compilation({ ...options, memory: { ...memory, slices: false } }),
  );
  return cheaper(stages, unsliced);
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
