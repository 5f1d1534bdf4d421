import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { copiedInputs } from '../../runtime/program/checks.ts';
import { keyOf } from '../../runtime/program/dynamic-call.ts';
import { optionalGradientsOf } from '../../runtime/program/optional-gradients.ts';
import type { BackwardPart, PlannedSubgraph, SavedValues } from '../../runtime/program/plan.ts';
import type {
  JointProgram,
  Program,
  ProgramOp,
  Region,
  ValueId,
} from '../../runtime/program/program.ts';
import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { verifyProgram } from '../../runtime/program/verify/verify.ts';
import { writtenInputs } from '../../runtime/program/writes.ts';
import { eliminateDeadBackward, withoutDead } from '../5-optimize/cleanup/dead-code.ts';
import { inputCopies } from '../5-optimize/copy-inputs.ts';
import { fusedValues } from '../5-optimize/fuse/fused-form.ts';
import type { Cost } from '../5-optimize/recompute/choice.ts';
import { ForwardFacts } from '../5-optimize/recompute/forward-facts.ts';
import { forwardOfStep } from '../5-optimize/recompute/forward-of-step.ts';
import { MemoryUses } from '../5-optimize/recompute/memory-uses.ts';
import { materializeLayouts } from '../6-split/materialize-layouts.ts';
import { split } from '../6-split/split.ts';
import { placedInArena } from '../7-plan/arena/place-in-arena.ts';
import { enteringAlone } from '../7-plan/entering.ts';
import { OpMemories } from '../7-plan/op-memory.ts';
import { planProgram, roughBytes, roughOrder } from '../7-plan/plan.ts';
import type { Planned, PlanOptions, PlanRegions } from '../7-plan/plan-in-order.ts';
import { withCopiedBytes } from '../7-plan/predicted-bytes.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { finish, type Steps } from '../programs/steps.ts';
import type { Compilation } from './compilation.ts';
import { atRate, withinBudget } from './within-budget.ts';

/** Plans of one call to keep, for the shapes of recent runs. */
const mostPlans = 64;

/** Copies inputs before a run that must be restored if the run bails out. */
function withCopies(stages: SubgraphStages): SubgraphStages {
  const { planned } = stages;
  const { forward, values } = planned;
  const copied = copiedInputs(forward).map((i) => bytesOf(values, forward.inputs[i]!));
  if (copied.length === 0) return stages;
  const copiedBytes = copied.reduce((sum, bytes) => sum + bytes, 0);
  const predicted = withCopiedBytes(forward.predicted, copiedBytes);
  return { ...stages, planned: { ...planned, forward: { ...forward, predicted } } };
}

/** The inputs that a program owns exclusively. */
export interface Ownership {
  readonly inputs?: (index: number) => boolean;
  /** Inputs that are donated: the program may also overwrite them. */
  readonly donated?: ReadonlySet<ValueId>;
  /** Whether it owns its gradients; true by default. */
  readonly gradients?: boolean;
  /** Gradients may be missing when the backward runs. */
  readonly optionalGradients?: boolean;
}

/** Options for planning a program in its order. */
interface InOrder {
  readonly order?: boolean;
  /** Whether this is one of several plans: only the chosen plan gets an arena. */
  readonly isCandidate?: boolean;
  /** Sums of gradients; a run may request single terms of them. */
  readonly sums?: readonly ValueId[];
  /** The gradients among the inputs, if there are several: a run may lack some. */
  readonly gradients?: readonly ValueId[];
  /** Inputs that may be missing. */
  readonly missing?: readonly ValueId[];
  /** Values that an earlier program computed. */
  readonly available?: readonly ValueId[];
}

/** Phases 6 and 7, for a subgraph and for the regions of its control ops. */
export class SubgraphPlanner {
  readonly #memory: MemoryOptions;
  readonly #compilation: Compilation;
  /** Regions are planned once: a forward op and its backward op run the same ones. */
  readonly #recorded: Map<Region, PlannedSubgraph>;
  readonly #unrecorded = new Map<Region, PlannedSubgraph>();
  /** The planner of programs whose operands may share memory that they write. */
  #inSourceOrder: SubgraphPlanner | undefined;

  constructor(
    compilation: Compilation,
    memory = compilation.memory,
    recorded = new Map<Region, PlannedSubgraph>(),
  ) {
    this.#compilation = compilation;
    this.#memory = memory;
    this.#recorded = recorded;
  }

  /** Plans within the budget, if there is one and that is possible. Null if another candidate is as cheap. */
  *inferenceWithin(traced: Program, owned: Ownership): Steps<SubgraphStages | null> {
    const chosen = yield* this.#optimized('step', traced, owned);
    const { budget } = this.#memory;
    if (budget === null) return withCopies(yield* this.inference(traced, owned, chosen));
    const facts = new ForwardFacts(chosen, forwardOfStep(chosen));
    return withinBudget(
      facts,
      budget,
      {
        costOf: (program) => roughBytes(program, owned.donated),
        usesOf: (isFused) => {
          // Values that a fused op computes a few rows at a time take no memory: recomputing pays off only for whole
          // values.
          const ordered = roughOrder(chosen, owned.donated);
          const facts = new ForwardFacts(ordered, forwardOfStep(ordered));
          return usesOf(facts, owned, isFused ? innerOf(facts) : undefined);
        },
        plan: (program) => {
          const staged = { program, firstLate: program.ops.length, alsoRead: [] };
          const needed = withoutDead(staged).program;
          return withCopies(finish(this.inference(traced, owned, needed)));
        },
        donatedBytes: donatedBytesOf(chosen, owned),
      },
      this.#compilation,
    );
  }

  *trainingWithin(
    traced: Program,
    joint: JointProgram,
    owned: Ownership,
  ): Steps<SubgraphStages | null> {
    const { budget } = this.#memory;
    const { rate } = this.#compilation.options;
    if (budget === null) return withCopies(yield* this.training(traced, joint, owned));
    const outputs = [...joint.forwardOutputs, ...joint.program.outputs];
    const facts = new ForwardFacts(joint.program, (index) => index < joint.forwardOps, outputs);
    const plan = (program: Program) => {
      const { forwardOps: firstLate, forwardOutputs } = joint;
      const needed = withoutDead({ program, firstLate, alsoRead: forwardOutputs });
      const changed = { ...joint, program: needed.program, forwardOps: needed.firstLate };
      return withCopies(finish(this.training(traced, changed, owned)));
    };
    if (rate !== undefined) return atRate(facts, budget, rate, plan);
    const costOf: Cost = (program) => roughBytes({ ...program, outputs }, owned.donated);
    const donatedBytes = donatedBytesOf(joint.program, owned);
    return withinBudget(
      facts,
      budget,
      { costOf, plan, usesOf: () => usesOf(facts, owned), donatedBytes },
      this.#compilation,
    );
  }

  /** Phase 5 for a program that is planned as a whole. */
  *#optimized(stage: 'step' | 'region', traced: Program, { donated }: Ownership): Steps<Program> {
    // The ops after the last recorded one (backward and update) are not differentiated again.
    const firstLate = traced.ops.findLastIndex((op) => op.recordsGrad) + 1;
    const costOf = (program: Program) => roughBytes(program, donated);
    const context = { stage, memory: this.#memory, gradOutputs: 0, costOf };
    const staged = { program: traced, firstLate, alsoRead: [] };
    const { program } = yield* this.#compilation.optimizeInSteps(staged, context);
    return program;
  }

  /** `given`: the program to plan, if the traced one was already rewritten. */
  *inference(traced: Program, owned: Ownership = {}, rewritten?: Program): Steps<SubgraphStages> {
    const chosen = rewritten ?? (yield* this.#optimized('region', traced, owned));
    const { inputs, donated } = owned;
    const values: TensorMeta[] = [...chosen.values];
    const forward = materializeLayouts(chosen, values);
    verifyProgram(forward);
    const entering = { ...(inputs && { inputsEnterAlone: inputs }), ...(donated && { donated }) };
    const isCandidate = rewritten !== undefined;
    const { plan } = yield* this.#plan(forward, { keep: [], ...entering }, { isCandidate });
    const planned = { values, forward: plan, backward: null };
    return { traced, joint: null, forward, backward: null, planned, recompute: null, passes: {} };
  }

  *training(
    traced: Program,
    joint: JointProgram,
    { inputs, donated, gradients = true, optionalGradients = false }: Ownership,
  ): Steps<SubgraphStages> {
    const parts = split(joint);
    const values: TensorMeta[] = [...joint.program.values];
    const forward = materializeLayouts(parts.forward, values);
    const backward = materializeLayouts(parts.backward, values);
    verifyProgram(forward);
    verifyProgram(backward, parts.saved.withData.concat(parts.saved.noNeedBuffer));

    const keep = keptValues(forward, parts.saved, this.#memory);
    const entering = { ...(inputs && { inputsEnterAlone: inputs }), ...(donated && { donated }) };
    const plannedForward = yield* this.#plan(forward, { keep, ...entering });
    const before = {
      plan: plannedForward.plan,
      entering: enteringAlone(forward.inputs, entering),
      gradOutputs: joint.gradOutputs,
    };
    const after = { carried: plannedForward.kept, inputsEnterAlone: gradients, after: before };
    const plannedBackward = yield* this.#plan(
      backward,
      { keep: [], ...after },
      {
        sums: joint.sums.flat(),
        missing: optionalGradients ? backward.inputs : [],
        gradients: backward.inputs.length > 1 ? backward.inputs : [],
        available: [...parts.saved.withData, ...parts.saved.noNeedBuffer],
      },
    );
    // Keeps the order: only the live ranges differ, not what is computed.
    const inOrder = this.#plan(plannedBackward.program, { keep, ...after }, { order: false });
    const { plan: retainingPlan } = yield* inOrder;
    const part: BackwardPart = {
      plan: plannedBackward.plan,
      retainingPlan,
      saved: parts.saved,
      gradOutputs: joint.gradOutputs,
      leafOutputs: joint.leafOutputs,
      gradInputs: joint.gradInputs,
      sums: joint.sums,
      arrivals: joint.arrivals,
    };
    const planned = { values, forward: plannedForward.plan, backward: part };
    const done = { traced, joint: joint.program, forward, backward, planned };
    return { ...done, recompute: null, passes: {} };
  }

  *#plan(
    program: Program,
    options: Omit<Parameters<typeof planProgram>[1], 'memory' | 'planRegions' | 'planCall'>,
    {
      order = this.#memory.order,
      isCandidate = false,
      sums = [],
      missing = [],
      gradients = [],
      available = [],
    }: InOrder = {},
  ): Steps<Planned> {
    const memory = { ...this.#memory, order };
    const context = { memory, gradOutputs: 0, gradients, available };
    const fixed = () => new Set([...sums, ...optionalGradientsOf(program.ops, missing)]);
    const planned = yield* planProgram(program, {
      ...options,
      isFirst: this.#compilation.isFirst,
      choices: this.#compilation.choices,
      memory,
      rewrite: (ordered, stage, costOf, peakBefore) =>
        this.#compilation.optimize(
          { program: ordered, firstLate: 0, alsoRead: options.keep },
          { ...context, stage, costOf, fixed: fixed(), peakBefore },
        ).program,
      planRegions: this.#planRegions,
      planCall: this.#planCall,
    });
    if (isCandidate || options.keep.length > 0 || options.carried) return planned;
    return { ...planned, plan: placedInArena(planned.plan, program.values, memory) };
  }

  /** Regions are planned once for several candidates, so their choices belong to none of these. */
  readonly #planRegions: PlanRegions = (op, recorded, moves) =>
    this.#compilation.apart(() => this.#regionsOf(op, recorded, moves));

  readonly #regionsOf: PlanRegions = ({ op, inputs, outputs, regions = [] }, recorded, moves) => {
    const loops = op.name === 'while' || op.name === 'whileBackward';
    const carried = op.name === 'while' ? outputs.length - 1 : 0;
    return regions.map((region, i) => {
      // A loop body owns the values carried to it, and a branch owns the values that die with the op.
      const isBody = loops && i === 1;
      const count = isBody && inputs.length > 0 ? carried : 0;
      const records = recorded || op.name.endsWith('Backward');
      const alone = (index: number) =>
        op.name === 'cond' ? moves[index + 1] === true : index < count;
      const planner = this.#forRegion(region.program);
      if (records && region.joint) {
        return planner.#trainingRegion(region, region.joint, isBody, alone);
      }
      const planned =
        this.#unrecorded.get(region) ??
        finish(planner.inference(region.program, { inputs: alone })).planned;
      this.#unrecorded.set(region, planned);
      return planned;
    });
  };

  /** Plans of at most this many sets of shapes are kept. */
  readonly #planCall: PlanOptions['planCall'] = (call, recorded) => {
    const plans = new RecentlyUsed<string, PlannedSubgraph>(mostPlans);
    const plan = ({ program, joint }: Region): PlannedSubgraph =>
      recorded && joint
        ? finish(this.training(program, eliminateDeadBackward(joint), { optionalGradients: true }))
            .planned
        : finish(this.inference(program)).planned;
    return { call, at: (operands) => plans.get(keyOf(operands), () => plan(call.at(operands))) };
  };

  /** Operands of a region may share memory: if it writes to an operand, all ops keep program order. */
  #forRegion(program: Program): SubgraphPlanner {
    if (writtenInputs(program).length === 0) return this;
    this.#inSourceOrder ??= new SubgraphPlanner(
      this.#compilation,
      { ...this.#memory, order: false, minimizeSaved: false },
      this.#recorded,
    );
    return this.#inSourceOrder;
  }

  #trainingRegion(
    region: Region,
    joint: JointProgram,
    isBody: boolean,
    inputs: (index: number) => boolean,
  ): PlannedSubgraph {
    const existing = this.#recorded.get(region);
    if (existing) return existing;
    const owned = { inputs, gradients: isBody, optionalGradients: true };
    const steps = this.training(region.program, eliminateDeadBackward(joint), owned);
    const { planned } = finish(steps);
    this.#recorded.set(region, planned);
    return planned;
  }
}

function donatedBytesOf({ values }: Program, { donated = new Set() }: Ownership): number {
  return [...donated].reduce((sum, id) => sum + bytesOf(values, id), 0);
}

function usesOf(
  facts: ForwardFacts,
  { donated }: Ownership,
  inner?: (root: ValueId) => boolean,
): MemoryUses {
  const memories = new OpMemories(facts.program.values);
  return new MemoryUses(facts, (op) => memories.of(op), donated, inner);
}

/** Returns a check for memory inside fused ops, which is never allocated. */
function innerOf(facts: ForwardFacts): (root: ValueId) => boolean {
  const { program } = facts;
  const named = new Uint8Array(program.values.length);
  for (const { inputs, outputs } of fusedValues(program, new Set(program.outputs)).ops) {
    for (const id of [...inputs, ...outputs]) named[facts.rootOf(id)] = 1;
  }
  return (root) => named[root] === 0;
}

/**
 * Returns the values that stay in the scope between forward and backward: values that backward reads, and values that
 * aren't freed.
 */
function keptValues(forward: Program, saved: SavedValues, memory: MemoryOptions): ValueId[] {
  const defined = forward.ops.flatMap((op: ProgramOp) => op.outputs);
  return [
    ...new Set([
      ...saved.withData,
      ...(memory.noNeedBuffer ? [] : saved.noNeedBuffer),
      ...(memory.unusedInputs && memory.gradNodeInputs ? [] : forward.inputs),
      ...(memory.inputCopies ? [] : inputCopies(forward)),
      ...(memory.unusedOutputs ? [] : forward.outputs),
      ...(memory.skipSet ? [] : defined),
    ]),
  ].sort((a, b) => a - b);
}
