import { operandUse } from '../../runtime/device/kernel-op.ts';
import { presentView } from '../../runtime/device/symbolic-attrs.ts';
import {
  contiguousMeta,
  formatSpec,
  sameStrides,
  type TensorMeta,
} from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type {
  GradientPart,
  GradientProgram,
  GradientRequest,
  HigherOrderGradients,
  IsOpen,
  KeptAt,
  ReadValue,
  TakenPath,
  ValuesOnPath,
} from '../../runtime/program/higher-order-gradients.ts';
import { outputGradientOp } from '../../runtime/program/output-gradient-op.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import type {
  GradientContribution,
  Program,
  ProgramOp,
  ValueId,
  ValueTable,
} from '../../runtime/program/program.ts';
import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import {
  type Differentiated,
  differentiateAgain,
  type RecordedJoint,
} from '../4-differentiate/differentiate-again.ts';
import { eagerRefusal, stillOpen } from '../4-differentiate/eager-refusal.ts';
import { replayedArrivals } from '../4-differentiate/replayed-arrivals.ts';
import { eliminateDeadCode } from '../5-optimize/cleanup/dead-code.ts';
import { inputsFromCopies } from '../5-optimize/copy-inputs.ts';
import { valuesFromStores } from '../5-optimize/offload.ts';
import { valuesFromCodes } from '../5-optimize/saved-dtype.ts';
import { placesFromCodes } from '../5-optimize/saved-places.ts';
import { Choices } from '../programs/choices.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import { Compilation, type CompileOptions } from './compilation.ts';
import { copiesOfEqual } from './copies-of-equal.ts';
import { type KeptMasks, keptMasks, readingMasks, shiftBackwardIds } from './kept-masks.ts';
import { onlyOn } from './only-on-path.ts';
import { recomputeValues } from './recompute-values.ts';

/** The number of paths whose arrivals and open results are cached. */
const mostPaths = 64;

export interface Making extends Differentiated {
  /** Whether each input gets a gradient. */
  readonly reached: readonly boolean[];
  /** Values of forward whose data is saved for backward. */
  readonly kept: ReadonlySet<ValueId>;
  /** Whether the plan saves values in another layout than in the traced program. */
  readonly isRelaid: boolean;
  /** Masks that represent values of forward which aren't kept. */
  readonly masks: KeptMasks;
  /** The path that the program is restricted to. */
  readonly onPath: ValuesOnPath | null;
  /** Maps an id of the planned program to the id in `forward`. */
  readonly numberOf: (id: ValueId) => ValueId;
  /**
   * Returns ops that compute values which aren't saved, such as inputs, from saved ones, such as copies of the inputs.
   */
  readonly restoring: () => Pick<Program, 'values' | 'ops'>;
  /** Removes values that need not be saved from the joint program, where its history allows it. */
  readonly simplified: (program: Program) => Program;
  readonly compile: (
    program: Program,
    needsGrad: readonly boolean[],
    differentiable: readonly boolean[],
  ) => PlannedSubgraph;
}

/**
 * Gradients of gradients: the backward of a program, as programs that are differentiated and planned like any other, on
 * request. They read the values that forward saved, starting where a gradient flows into forward.
 */
export function withHigherOrderGradients(
  stages: SubgraphStages,
  needsGrad: readonly boolean[],
  options: CompileOptions,
  compile: Compile,
): SubgraphStages {
  const { traced, planned } = stages;
  const { memory } = options;
  const backward = planned.backward!;
  // A value that is read only for its shape has no data that could be kept.
  const own = {
    ...options,
    memory: { ...memory, unusedInputs: true, gradNodeInputs: true, noNeedBuffer: true },
  };
  const kept = new Set(backward.saved.withData);
  const done = planned.forward.steps.map(({ op }) => op);
  const making: Making = {
    forward: traced,
    needsGrad,
    differentiable: backward.gradOutputs.map((id) => id !== null),
    leafOutputs: backward.leafOutputs,
    reached: backward.gradInputs.map((id) => id !== null),
    kept,
    isRelaid: isRelaid(traced.values, planned.values, kept),
    masks: keptMasks(stages, kept),
    onPath: null,
    numberOf: (id) => id,
    restoring: () => {
      const values: TensorMeta[] = [...planned.values];
      const stored = valuesFromStores(stages.forward.ops, kept, values);
      const known = new Set([...kept, ...stored.flatMap(({ outputs }) => outputs)]);
      const ops = [
        ...stored,
        ...inputsFromCopies({ inputs: traced.inputs, ops: done }, known, values),
        ...placesFromCodes(traced, stages.forward, known, values),
        ...valuesFromCodes(stages.forward, known, values),
        ...copiesOfEqual(traced, known),
      ];
      return { values, ops };
    },
    simplified: (program) => simplified(program, options),
    compile: (program, needsGrad, differentiable) =>
      compile(program, { needsGrad, differentiable }, own).planned,
  };
  const makingOn = (path: TakenPath | null) => (path ? onlyOn(making, stages, path) : making);
  const arrivals = new RecentlyUsed<string, readonly GradientContribution[]>(mostPaths);
  const open = new RecentlyUsed<string, IsOpen>(mostPaths);
  const higherOrder: HigherOrderGradients = {
    at: (request) => gradientProgram(makingOn(request.path), request),
    eagerRefusal: ({ path, changed, ...refused }) => {
      const own = makingOn(path);
      return eagerRefusal(own, { ...refused, changed: changed.flatMap((at) => valuesAt(own, at)) });
    },
    stillOpen: ({ path, earlier }) => {
      const key = JSON.stringify([path, earlier]);
      return open.get(key, () => stillOpen(makingOn(path), earlier));
    },
    arrivals: (path) => {
      return arrivals.get(JSON.stringify(path), () => replayedArrivals(makingOn(path)));
    },
  };
  return { ...stages, planned: { ...planned, backward: { ...backward, higherOrder } } };
}

/** Whether saved values have other strides in the plan, as views of copied inputs do. */
function isRelaid(traced: ValueTable, planned: ValueTable, kept: ReadonlySet<ValueId>): boolean {
  for (const id of kept) {
    const [before, after] = [traced[id], planned[id]!];
    if (before && !sameStrides(before, after)) return true;
  }
  return false;
}

/** Returns the values in `forward` that a run saved there. */
function valuesAt({ onPath, numberOf }: Making, { frame, id }: KeptAt): ValueId[] {
  if (frame === 0 || !onPath) return [numberOf(id)];
  return onPath.keptAt.flatMap((places, value) =>
    places.some((at) => at.frame === frame && at.id === id) ? [value as ValueId] : [],
  );
}

/** Phases 4 to 7. */
type Compile = (
  program: Program,
  requested: {
    readonly needsGrad: readonly boolean[];
    readonly differentiable: readonly boolean[];
  },
  options: CompileOptions,
) => SubgraphStages;

/**
 * Simplifies a program without cutting a gradient's path: other values that the original form reads must be computable
 * from those of the simplified form.
 */
function simplified(program: Program, options: CompileOptions): Program {
  const staged = { program, firstLate: program.ops.length, alsoRead: [] };
  const { memory } = options;
  const context = { stage: 'again', memory, gradOutputs: 0, costOf: () => 0 } as const;
  return new Compilation(options, Choices.none()).optimize(staged, context).program;
}

function gradientProgram(making: Making, request: GradientRequest): GradientProgram {
  const { masks } = making;
  const found = differentiateAgain(making, request);
  const joint = shiftBackwardIds(found, making.forward.values.length, masks);
  const { forwardOps, given, gradInputs, flows } = joint;
  const program = readingMasks(making.simplified(joint.program), forwardOps, masks);
  const ops = eliminateDeadCode(program.ops.slice(forwardOps), program.outputs);
  const { inputs } = making.forward;
  const forward: Program = { ...program, inputs, ops: program.ops.slice(0, forwardOps) };
  const leads = flowsIntoForward(making, flows);
  const reads = readsOf(forward, masks, ops, program.outputs, leads);
  const recorded = new Set(recordedGradients(request, given));
  for (const { id, flows } of reads) if (flows && request.recorded) recorded.add(id);
  const cuts = cutAtOutputs(ops);
  const values: TensorMeta[] = [...program.values];
  // A hook may return a gradient with other strides.
  for (const { passes } of cuts) {
    if (passes) values[passes.to] = contiguousMeta(values[passes.to]!, values[passes.to]!.device);
  }
  const parts = cuts.map(({ own, passes }, i, all) => {
    const later = all.slice(i + 1).flatMap((each) => each.own.flatMap(({ inputs }) => inputs));
    const ahead = all.slice(i + 1).flatMap((each) => (each.passes ? [each.passes.from] : []));
    const needed = new Set([...later, ...ahead, ...program.outputs]);
    if (passes) needed.add(passes.from);
    const record = request.recorded ? recorded : null;
    const part = own.length > 0 ? partOf(making, values, own, needed, record) : null;
    for (const id of part?.outputs ?? []) record?.add(id);
    if (passes) record?.add(passes.to);
    return { part, passes };
  });
  const recomputed = recomputedPart(making, forward, reads);
  const taken = [
    ...reads.flatMap(({ id, data }) => (data ? [id] : [])),
    ...(recomputed?.inputs ?? []),
  ];
  return {
    reads,
    recomputed,
    taken: new Set(taken.filter((id) => making.kept.has(id))),
    given,
    parts,
    gradInputs,
    onPath: making.onPath,
  };
}

/** Removes inputs that get no gradient from the flows. */
function flowsIntoForward(
  { forward, reached }: Making,
  flows: ReadonlySet<ValueId>,
): ReadonlySet<ValueId> {
  const ends = new Set(forward.inputs.filter((_, i) => !reached[i]));
  return new Set([...flows].filter((id) => !ends.has(id)));
}

function recordedGradients(
  { outputs, values, earlier }: GradientRequest,
  gradients: readonly ValueId[],
): ValueId[] {
  return [...outputs, ...values, ...earlier].flatMap((each, i) =>
    each.recorded ? [gradients[i]!] : [],
  );
}

function readsOf(
  { inputs, ops: before }: Program,
  masks: KeptMasks,
  ops: readonly ProgramOp[],
  outputs: readonly ValueId[],
  flows: RecordedJoint['flows'],
): ReadValue[] {
  const early = new Set(before.flatMap((op) => op.outputs));
  for (const id of [...inputs, ...masks.ids]) early.add(id);
  const withData = new Map<ValueId, boolean>();
  const note = (id: ValueId, data: boolean): void => {
    if (early.has(id)) withData.set(id, data || withData.get(id) === true);
  };
  for (const { op, inputs } of ops) {
    inputs.forEach((id, i) => {
      note(id, operandUse(op, i) === 'data');
    });
  }
  for (const id of outputs) note(id, true);
  return [...withData].map(([id, data]) => ({ id, data, flows: data && flows.has(id) }));
}

interface Cut {
  readonly own: ProgramOp[];
  readonly passes: GradientProgram['parts'][number]['passes'];
}

/** Cuts after every complete gradient of a marked output. */
function cutAtOutputs(ops: readonly ProgramOp[]): Cut[] {
  const cuts: Cut[] = [];
  let pathOps: ProgramOp[] = [];
  for (const op of ops) {
    if (op.op !== outputGradientOp) {
      pathOps.push(op);
      continue;
    }
    const numbers = op.attrs.outputs as readonly number[];
    cuts.push({ own: pathOps, passes: { from: op.inputs[0]!, to: op.outputs[0]!, numbers } });
    pathOps = [];
  }
  return [...cuts, { own: pathOps, passes: null }];
}

/** `recorded`: values with a history; null if no history is needed. */
function partOf(
  { compile, isRelaid }: Making,
  values: ValueTable,
  ops: readonly ProgramOp[],
  needed: ReadonlySet<ValueId>,
  recorded: ReadonlySet<ValueId> | null,
): GradientPart {
  const defined = new Set(ops.flatMap(({ outputs }) => outputs));
  const inputs = [...new Set(ops.flatMap((op) => op.inputs))].filter((id) => !defined.has(id));
  const outputs = [...defined].filter((id) => needed.has(id));
  const needsGrad = inputs.map((id) => recorded?.has(id) ?? false);
  const differentiable = outputs.map((id) => {
    return recorded !== null && dtypes[values[id]!.dtype].floating;
  });
  const program = withOwnLayouts({ values, inputs, ops, outputs }, isRelaid);
  return { planned: compile(program, needsGrad, differentiable), inputs, outputs };
}

/**
 * Makes inputs start at their tensor's offset, with views relative to it. If a run saved values in other layouts than
 * the traced program's, the inputs are contiguous: the run copies strided ones.
 */
function withOwnLayouts(
  { values: tracedValues, inputs, ops, outputs }: Program,
  isRelaid: boolean,
): Program {
  const values: TensorMeta[] = [...tracedValues];
  for (const id of inputs) {
    const meta = values[id]!;
    values[id] = isRelaid ? contiguousMeta(meta, meta.device) : { ...meta, offset: 0 };
  }
  for (const { op, inputs: operands, outputs: results, attrs } of ops) {
    if (op.kernel.kind !== 'view') continue;
    values[results[0]!] = presentView(
      op,
      operands.map((id) => values[id]!),
      attrs,
    );
  }
  return { values, inputs, ops, outputs };
}

/** Returns the values of forward that backward recomputes itself, by ops without a gradient. */
function recomputedPart(
  { kept, isRelaid, compile, restoring }: Making,
  before: Program,
  reads: readonly ReadValue[],
): GradientPart | null {
  const missing = reads.flatMap(({ id, data }) => (data && !kept.has(id) ? [id] : []));
  if (missing.length === 0) return null;
  const found = restoring();
  const forward = found.ops.length === 0 ? before : restored(before, found);
  const making = recomputeValues(forward, kept, missing);
  if (!making) throw notKept(missing, forward.values);
  const program = withOwnLayouts({ ...making, outputs: missing }, isRelaid);
  const none = (ids: readonly ValueId[]) => ids.map(() => false);
  const planned = compile(program, none(program.inputs), none(missing));
  return { planned, inputs: program.inputs, outputs: missing };
}

/** Computes the values that `restoring` computes by its ops instead of the program's. */
function restored(program: Program, restoring: Pick<Program, 'values' | 'ops'>): Program {
  const values = [...restoring.values];
  const defined = new Set(restoring.ops.flatMap(({ outputs }) => outputs));
  const unread = (id: ValueId) =>
    defined.has(id) ? ((values.push(values[id]!) - 1) as ValueId) : id;
  const ops = program.ops.map((op) => ({ ...op, outputs: op.outputs.map(unread) }));
  return { ...program, values, ops: [...restoring.ops, ...ops] };
}

function notKept(missing: readonly ValueId[], values: ValueTable): AutogradError {
  return new AutogradError({
    what: 'run_program: a gradient of a gradient needs values that were not kept',
    given: missing.map((id) => `%${id}, a ${formatSpec(values[id]!)} tensor`).join(', '),
    expected: 'values that the first backward reads, or that can be computed from them',
    remedy: 'capture with memory: { minimizeSaved: false }, or put the backward into the function',
  });
}
