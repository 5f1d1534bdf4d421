import { hasEffect } from '../../runtime/program/control-ops.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Guard } from '../guards/guard.ts';
import { isDecision } from '../traces/graph-break.ts';
import { optionalOutputs } from '../traces/optional-outputs.ts';
import { sameOutputs } from '../traces/same-outputs.ts';
import type { Outcome, TraceResult } from '../traces/trace-result.ts';
import { expectKnown } from './autograd/hooks.ts';
import type { LoopPlans } from './control-flow/plans/loop-plans.ts';
import {
  disposedInputs,
  distinctElements,
  distinctInputs,
  distinctTargets,
  viewsOfOne,
} from './inputs/distinct-inputs.ts';
import { withoutImplied } from './inputs/implied-guards.ts';
import { sizeIn } from './inputs/sizes.ts';
import { unguardedReads } from './inputs/unguarded-reads.ts';
import type { execute } from './machine/execute.ts';
import { effectRecipes } from './recipes/effect-recipes.ts';
import type { ProgramOutputs } from './recipes/program-outputs.ts';
import { Reconstruction } from './recipes/reconstruct.ts';
import { rerunsAfter } from './recipes/reruns.ts';
import { resizedOf } from './resize.ts';
import type { GraphControl } from './state/graph-control.ts';
import type { RejectedEagerly } from './state/rejected-eagerly.ts';
import type { Tracer } from './state/tracer.ts';

/** How the execution of a trace ended. */
export type TraceEnd = ReturnType<typeof execute>;

export interface Traced {
  readonly result: TraceResult;
  /** Whether the program contains numbers up to a graph break that decide nothing. */
  readonly gainsNothing: boolean;
  /** Whether copies leave the program where eager execution has views of memory that outlives it. */
  readonly leavesCopies: boolean;
}

/** Returns the result of a trace that has ended: what a call does if its guards hold. */
export function finishedTrace(tracer: Tracer, end: TraceEnd, plans: LoopPlans): Traced {
  const { entryFrames } = tracer;
  const reconstruction = new Reconstruction(tracer);
  const outcome = outcomeOf(tracer, end, reconstruction);
  const effects = effectRecipes(tracer, reconstruction);
  const { outputs, makes } = reconstruction;
  if (outcome.kind === 'break') keepBases(tracer, outputs);
  expectKnown(tracer, outputs.tensors, reconstruction.made);
  const program = tracer.builder.finish(outputs.values);
  const { inputs, numbers, tape, sizes } = tracer;
  const ownGuards = [...distinctInputs(inputs, program), ...distinctElements(inputs)];
  const guards = guardsOf(tracer, ownGuards);
  const result: TraceResult = {
    guards: [...guards, ...unguardedReads(tracer.variables.places, guards)],
    inputs: inputs.map(({ source }) => source),
    numbers: numbers.sources,
    scalars: numbers.scalars,
    sizes: sizes.reads.map((read) => sizeIn(read.tensor, read)),
    resized: null,
    needsGrad: inputs.map(({ tensor }) => tensor.requiresGrad),
    viewsOfOne: viewsOfOne(inputs),
    differentiable: outputs.differentiable(),
    lost: outputs.lost(),
    program,
    makes,
    effects,
    unrolled: plans.unrolled,
    kept: plans.kept,
    perLength: [...sizes.perLength.values()],
    truthyTensors: tracer.control.tensorConditions.comparisons,
    called: tracer.called.sources,
    randomNumbers: tracer.random.reseeded || tracer.random.seedValue ? 0 : tracer.random.count,
    outcome,
    reruns: rerunsAfter(tracer, reconstruction),
    reads: outputs.reads(),
    optional: optionalOutputs({ outcome, effects, makes }, outputs.handles),
    same: sameOutputs(program, outputs.reads()),
    places: tracer.variables.places,
    sources: [...tracer.sources],
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
  // Omits the user's tensors: a trace must not keep them alive.
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
  const guarded = resized
    ? result
    : { ...result, guards: [...result.guards, ...sizes.fixedNumbers(entryFrames)] };
  return {
    result: { ...guarded, resized },
    gainsNothing: gainsNothing(result, tracer.control),
    leavesCopies: tracer.control.copied.leave(tracer.surroundings, outputs.values),
  };
}

/**
 * Adds each tensor that several outputs are views of, and each with gradients that one of them is a view of. Code after the
 * break may write to one of the views, which gives the others a new place in the graph by way of their base; gradients of
 * the base are zero where it was overwritten, not null.
 */
function keepBases({ builder, effects }: Tracer, outputs: ProgramOutputs): void {
  const views = new Map<Tensor, number>();
  for (const tensor of outputs.tensors) {
    const base = tensor.family?.base;
    if (!base || base === tensor) continue;
    views.set(base, (views.get(base) ?? 0) + 1);
  }
  for (const [base, count] of views) {
    const isOwn = base.traced?.builder === builder && !builder.isInput(builder.valueOf(base));
    const needsBase = count > 1 || base.requiresGrad;
    if (needsBase && isOwn && !effects.disposed.has(base)) outputs.of(base);
  }
}

/** Returns the value that the function returns, or the frames to continue with. */
function outcomeOf(tracer: Tracer, end: TraceEnd, reconstruction: Reconstruction): Outcome {
  if (end.kind === 'return') return { kind: 'return', value: reconstruction.recipe(end.value) };
  return {
    kind: 'break',
    record: end.record,
    cause: end.cause,
    afterEffects: hasEffects(tracer),
    onlyThrows: end.onlyThrows,
    frames: tracer.frames.map((frame, depth) =>
      reconstruction.frame(frame, frame.pc, tracer.frames[depth + 1]?.returnTo),
    ),
  };
}

/** `own`: the guards implied by the inputs alone. */
function guardsOf(
  { guards, inherited, effects, inputs, autograd }: Tracer,
  more: readonly Guard[],
): Guard[] {
  return [
    ...withoutImplied(guards),
    ...inherited.guards(),
    ...more,
    ...effects.met.guards(),
    ...distinctTargets(inputs, autograd.targets),
    ...disposedInputs(inputs, effects.disposed),
    ...disposedInputs(inputs, effects.switched),
  ];
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
  // Eager execution may write to one of several tensors, but a program can't write to a tensor that may be any of them.
  if (outcome.record.reason === 'in-place') return true;
  return !isDecision(outcome.record.reason) && !program.ops.some(({ regions }) => regions);
}

function hasEffects({ builder, effects, random }: Tracer): boolean {
  const movesStream = random.count > 0 || random.reseeded !== null || random.seedValue !== null;
  return movesStream || builder.some(hasEffect) || effects.changes > 0 || effects.disposed.size > 0;
}

/** Returns a result that runs no program: eager execution throws under these guards, and reports the error itself. */
export function refusedTrace(tracer: Tracer, { cause, perhaps }: RejectedEagerly): TraceResult {
  const { entryFrames } = tracer;
  const at = tracer.position();
  const [what = ''] = cause.message.split('\n');
  const reason = perhaps ? 'framework-call' : 'op-error';
  const record = { reason, detail: what, at, line: at && tracer.lineAt(at) } as const;
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
    sizes: tracer.sizes.reads.map((read) => sizeIn(read.tensor, read)),
    resized: null,
    needsGrad: [],
    viewsOfOne: [],
    differentiable: [],
    optional: [],
    same: [],
    lost: [],
    program: { values: [], inputs: [], ops: [], outputs: [] },
    makes: [],
    effects: [],
    unrolled: [],
    kept: [],
    perLength: [],
    truthyTensors: tracer.control.tensorConditions.comparisons,
    called: [],
    randomNumbers: 0,
    outcome: {
      kind: 'break',
      record,
      cause: perhaps ? undefined : cause,
      frames: tracer.frames.map((frame) => frames.frame(frame, frame.pc, undefined)),
      eagerly: true,
      afterEffects: hasEffects(tracer) || tracer.autograd.hasAdded,
    },
    reruns: [],
    reads: [],
    places: tracer.variables.places,
    sources: [...tracer.sources],
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
}
