import { enableGrad, gradEnabled, noGrad } from '../../runtime/autograd/grad-mode.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import { hasEffect } from '../../runtime/program/control-ops.ts';
import type { GivenOperand } from '../../runtime/program/dynamic-call.ts';
import type { Program, ProgramOp } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Guard } from '../guards/guard.ts';
import type { NumberHistory } from '../guards/number-history.ts';
import { appendCall } from '../regions/append-call.ts';
import { appendControl, type DifferentiateRegion } from '../regions/append-control.ts';
import { type CallSite, SiteCall } from '../regions/site-call.ts';
import { GraphBreak, isDecision } from '../traces/graph-break.ts';
import { optionalOutputs } from '../traces/optional-outputs.ts';
import { sameOutputs } from '../traces/same-outputs.ts';
import type { Outcome, TraceResult } from '../traces/trace-result.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import { expectKnown } from './autograd/hooks.ts';
import { RelativeStream } from './control-flow/numbers/random-stream.ts';
import { LoopPlans, RestartTrace } from './control-flow/plans/loop-plans.ts';
import { replayRegions } from './control-flow/replay-regions.ts';
import { disposedInputs, distinctElements, distinctInputs } from './inputs/distinct-inputs.ts';
import { withoutImplied } from './inputs/implied-guards.ts';
import { sizeIn } from './inputs/sizes.ts';
import { unguardedReads } from './inputs/unguarded-reads.ts';
import { execute, executionOf } from './machine/execute.ts';
import { effectRecipes } from './recipes/effect-recipes.ts';
import { Reconstruction } from './recipes/reconstruct.ts';
import { resizedOf } from './resize.ts';
import { type ControlLimits, type ControlPolicy, GraphControl } from './state/graph-control.ts';
import { TooManyPaths } from './state/path-limit.ts';
import { finishedRegion } from './state/region-builder.ts';
import { RejectedEagerly } from './state/rejected-eagerly.ts';
import { Tracer } from './state/tracer.ts';
import type { CodeOf } from './variables/code-of.ts';

export interface TraceOptions extends ControlLimits {
  /** The numbers that earlier calls had at this point. */
  readonly history: NumberHistory;
  /** Numbers that come out of a graph break are no longer guarded by value, because they kept changing. */
  readonly numbersAreVolatile?: boolean;
  /** Selects the data-dependent decisions that become part of the program. */
  readonly controlPolicy?: ControlPolicy;
  /** The maximum number of instructions before the graph ends. */
  readonly traceLimit?: number;
  /** Called with each instruction before it is executed, for logs. */
  readonly onInstruction?: ((code: Code, pc: Pc) => void) | undefined;
  /** The later phases that process the programs of branches and loop bodies. */
  readonly regions: RegionPhases;
}

export interface RegionPhases {
  readonly normalize: (program: Program) => Program;
  readonly differentiate: DifferentiateRegion;
}

/**
 * Symbolic execution. In: the frames to continue with (for a call: one frame at pc 0). Out: the program of the
 * tensor ops up to the next graph break or return, the guards it relies on, and how to continue from there.
 * Guarantees: no user code has run and no user state has changed.
 */
export function trace(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
): TraceResult {
  const { result, gainsNothing } = traceUntilSettled(entryFrames, codeOf, options);
  if (options.controlPolicy === 'possible' && endsWithDecision(result)) {
    // Lists and unions represent values of different structure; they pay off only if no graph break remains.
    const one = traceAsOne(entryFrames, codeOf, options);
    if (one instanceof TooManyPaths) return withDetail(result, one.message);
    if (one?.outcome.kind === 'return') return one;
  }
  if (!gainsNothing) return result;
  return traceUntilSettled(entryFrames, codeOf, { ...options, controlPolicy: 'functions' }).result;
}

/** Traces with lists and unions, whose decisions may multiply. Returns null if the function needs too many paths. */
function traceAsOne(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
): TraceResult | TooManyPaths | null {
  const { pathBudget } = options;
  if (pathBudget?.isSpent) return null;
  const whole = { ...options, controlPolicy: 'always' } as const;
  const trace = () => traceUntilSettled(entryFrames, codeOf, whole).result;
  try {
    return pathBudget ? pathBudget.within(trace) : trace();
  } catch (error) {
    if (error instanceof TooManyPaths) return error;
    throw error;
  }
}

function withDetail(result: TraceResult, detail: string): TraceResult {
  const { outcome } = result;
  if (outcome.kind !== 'break') return result;
  const { record } = outcome;
  const own = { ...record, detail: `${record.detail}; ${detail}` };
  return { ...result, outcome: { ...outcome, record: own } };
}

function endsWithDecision({ outcome }: TraceResult): boolean {
  return outcome.kind === 'break' && isDecision(outcome.record.reason);
}

/**
 * Traces repeatedly until no restart is requested: a restart records what the trace should have known at its
 * start.
 */
function traceUntilSettled(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
): Traced {
  const plans = new LoopPlans();
  for (;;) {
    try {
      return traceOnce(entryFrames, codeOf, options, plans);
    } catch (error) {
      if (!(error instanceof RestartTrace)) throw error;
    }
  }
}

interface Traced {
  readonly result: TraceResult;
  /** True if numbers stayed in the program up to a graph break without deciding anything. */
  readonly gainsNothing: boolean;
}

/**
 * True if data-dependent decisions were allowed in the graph but none was captured. The graph then ends at the
 * first read, as without them, so that a loop that breaks later is cut at the same instruction in every iteration.
 */
function gainsNothing(
  { outcome, program }: TraceResult,
  { policy, hasRead }: GraphControl,
): boolean {
  if (policy !== 'possible' || !hasRead || outcome.kind !== 'break') return false;
  return !isDecision(outcome.record.reason) && !program.ops.some(({ regions }) => regions);
}

function traceOnce(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
  plans: LoopPlans,
): Traced {
  const { history, numbersAreVolatile = false, controlPolicy = 'functions', regions } = options;
  const control = new GraphControl(controlPolicy, plans, options);
  const { traceLimit = Number.POSITIVE_INFINITY } = options;
  const randomStream = (tracer: Tracer) => new RelativeStream(tracer);
  const given = { numbersAreVolatile, history, control, traceLimit, randomStream };
  const tracer = new Tracer(entryFrames, codeOf, given);
  tracer.execution = executionOf(tracer, {
    appendControl: (op, inputs, programs) => {
      tracer.control.copied.noteShared(inputs);
      return appendRegions(tracer, regions, op, inputs, programs);
    },
    appendCall: (...given) => appendTraced(tracer, regions, ...given),
  });
  tracer.onInstruction = options.onInstruction;
  let end: ReturnType<typeof execute>;
  try {
    end = execute(tracer);
    for (const each of tracer.autograd.checkpoints) each.expectAsItWas();
    const call = tracer.called.misplaced(tracer.builder, tracer.numbers);
    if (call && controlPolicy === 'always') plans.computeAt([call]);
    if (call) plans.breakAt(call.code, call.pc);
  } catch (error) {
    if (error instanceof RejectedEagerly) {
      return { result: refusedTrace(tracer, error), gainsNothing: false };
    }
    throw error;
  }
  const reconstruction = new Reconstruction(tracer);
  const outcome: Outcome =
    end.kind === 'return'
      ? { kind: 'return', value: reconstruction.recipe(end.value) }
      : {
          kind: 'break',
          record: end.record,
          cause: end.cause,
          afterEffects: hasEffects(tracer),
          onlyThrows: end.onlyThrows,
          frames: tracer.frames.map((frame, depth) =>
            reconstruction.frame(frame, frame.pc, tracer.frames[depth + 1]?.returnTo),
          ),
        };
  const effects = effectRecipes(tracer, reconstruction);
  const { outputs, makes } = reconstruction;
  expectKnown(tracer, outputs.tensors, reconstruction.made);
  const program = tracer.builder.finish(outputs.values);
  const { inputs, numbers, tape, sizes } = tracer;
  const ownGuards = [...distinctInputs(inputs, program), ...distinctElements(inputs)];
  const guards: Guard[] = [
    ...withoutImplied(tracer.guards),
    ...tracer.inherited.guards(),
    ...ownGuards,
    ...tracer.effects.met.guards(),
    ...disposedInputs(inputs, tracer.effects.disposed),
    ...disposedInputs(inputs, tracer.effects.switched),
  ];
  const result: TraceResult = {
    guards: [...guards, ...unguardedReads(tracer.variables.places, guards)],
    inputs: inputs.map(({ source }) => source),
    numbers: numbers.sources,
    scalars: numbers.scalars,
    sizes: sizes.reads.map(({ tensor, dim }) => sizeIn(tensor, dim)),
    resized: null,
    needsGrad: inputs.map(({ tensor }) => tensor.requiresGrad),
    differentiable: outputs.differentiable(),
    lost: outputs.lost(),
    program,
    makes,
    effects,
    unrolled: plans.unrolled,
    kept: plans.kept,
    truthyTensors: control.tensorConditions.comparisons,
    called: tracer.called.sources,
    randomNumbers: tracer.random.reseeded || tracer.random.seedValue ? 0 : tracer.random.count,
    outcome,
    reads: outputs.reads(),
    optional: optionalOutputs({ outcome, effects, makes }),
    same: sameOutputs(program, outputs.reads()),
    places: tracer.variables.places,
    sources: [...tracer.sources],
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
  // Leaves out the user's tensors: a trace must not keep them alive.
  const places = inputs.map(({ source, tensor, list }) => ({ source, tensor, list }));
  const recorded = {
    result,
    inputs: places,
    lists: tracer.lists,
    outputs: outputs.tensors,
    tape,
    sizes,
    ownGuards,
  };
  const resized = resizedOf(recorded);
  // Numeric keys get value guards if the trace can't be replayed for other sizes.
  const own = resized
    ? result
    : { ...result, guards: [...result.guards, ...sizes.fixedNumbers(entryFrames)] };
  return { result: { ...own, resized }, gainsNothing: gainsNothing(result, control) };
}

function hasEffects({ builder, effects }: Tracer): boolean {
  return builder.some(hasEffect) || effects.changes > 0;
}

/**
 * Returns a result that runs no program: under these guards eager execution throws, and reports the error itself.
 */
function refusedTrace(tracer: Tracer, { cause }: RejectedEagerly): TraceResult {
  const { entryFrames } = tracer;
  const at = tracer.position();
  const [what = ''] = cause.message.split('\n');
  const record = { reason: 'op-error', detail: what, at, line: at && tracer.lineAt(at) } as const;
  const frames = new Reconstruction(tracer);
  return {
    guards: [
      ...tracer.guards.values(),
      ...tracer.inherited.guards(),
      ...tracer.effects.met.guards(),
    ],
    inputs: [],
    numbers: tracer.numbers.sources,
    scalars: tracer.numbers.scalars,
    sizes: tracer.sizes.reads.map(({ tensor, dim }) => sizeIn(tensor, dim)),
    resized: null,
    needsGrad: [],
    differentiable: [],
    optional: [],
    same: [],
    lost: [],
    program: { values: [], inputs: [], ops: [], outputs: [] },
    makes: [],
    effects: [],
    unrolled: [],
    kept: [],
    truthyTensors: tracer.control.tensorConditions.comparisons,
    called: [],
    randomNumbers: 0,
    outcome: {
      kind: 'break',
      record,
      cause,
      frames: tracer.frames.map((frame) => frames.frame(frame, frame.pc, undefined)),
      eagerly: true,
      afterEffects: hasEffects(tracer),
    },
    reads: [],
    places: tracer.variables.places,
    sources: [...tracer.sources],
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
}

/** Its shapes follow from the sizes of this trace; each new size is traced separately. */
function appendTraced(
  tracer: Tracer,
  { normalize, differentiate }: RegionPhases,
  site: CallSite,
  sample: readonly GivenOperand[],
  inputs: readonly Tensor[],
  results: readonly TensorMeta[],
): Tensor[] {
  const call = new SiteCall(site, sample, normalize);
  const { builder } = tracer;
  return tracer
    .runOnce(() => appendCall(builder, call, inputs, results, differentiate))
    .slice(0, -1);
}

function appendRegions(
  tracer: Tracer,
  { normalize, differentiate }: RegionPhases,
  op: OpRecord,
  inputs: readonly Tensor[],
  programs: readonly Program[],
): Tensor[] {
  const append = (
    operands: readonly Tensor[],
    given: readonly Program[],
    builder: ProgramBuilder,
  ): Tensor[] => {
    const regions = given.map((program) => ({ program: normalize(program), joint: null }));
    // The merge is not a user op: even inside `noGrad`, a result keeps the autograd history of the path that
    // computed it.
    const mode = gradEnabled() || leavesHistory(operands, given) ? enableGrad : noGrad;
    return mode(() => appendControl(builder, op, operands, regions, differentiate)).slice(0, -1);
  };
  const { builder } = tracer;
  const results = overwritingBreaks(() => tracer.append(() => append(inputs, programs, builder)));
  const regions = programs.map(finishedRegion);
  for (const { region } of regions) builder.freedNodes.notePossibly(region.builder.freedNodes.all);
  const own = inputs.slice(0, inputs.length - regions[0]!.captured.length);
  tracer.record(
    own,
    (operands, again, replay) => {
      const { captured, programs } = replayRegions(op, regions, replay!);
      return append([...(operands as Tensor[]), ...captured], programs, again);
    },
    results,
  );
  return results;
}

/** True if a path may return an operand that requires gradients, or a result with autograd history. */
function leavesHistory(operands: readonly Tensor[], programs: readonly Program[]): boolean {
  const records = ({ recordsGrad, regions = [] }: ProgramOp): boolean =>
    recordsGrad || regions.some(({ program }) => program.ops.some(records));
  return programs.some(({ inputs, outputs, ops }) => {
    const own = operands.slice(operands.length - inputs.length);
    if (!own.some(({ requiresGrad }) => requiresGrad)) return false;
    return (
      ops.some(records) || inputs.some((id, i) => own[i]!.requiresGrad && outputs.includes(id))
    );
  });
}

/**
 * Turns the error for overwriting a saved value into a graph break: it is a user error only once that backward
 * runs.
 */
function overwritingBreaks<T>(append: () => T): T {
  try {
    return append();
  } catch (error) {
    if (!(error instanceof AutogradError)) throw error;
    const [what = ''] = error.message.split('\n');
    throw new GraphBreak('in-place', `${what} (in a branch or loop)`);
  }
}
