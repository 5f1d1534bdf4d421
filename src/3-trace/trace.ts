import type { NumberHistory } from '../guards/number-history.ts';
import { ChangingFacts } from '../traces/changing-facts.ts';
import { isDecision } from '../traces/graph-break.ts';
import { OpSites } from '../traces/op-sites.ts';
import type { TraceResult } from '../traces/trace-result.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Pc } from '../vm/bytecode/instructions.ts';
import {
  appendRegions,
  appendResizable,
  appendTraced,
  type RegionPhases,
} from './append-regions.ts';
import { RelativeStream } from './control-flow/numbers/random-stream.ts';
import { LoopPlans, RestartTrace } from './control-flow/plans/loop-plans.ts';
import { finishedTrace, refusedTrace, type Traced, type TraceEnd } from './finish-trace.ts';
import { execute, executionOf } from './machine/execute.ts';
import { type ControlLimits, type ControlPolicy, GraphControl } from './state/graph-control.ts';
import { TooManyPaths } from './state/path-limit.ts';
import { RejectedEagerly } from './state/rejected-eagerly.ts';
import { Tracer } from './state/tracer.ts';
import type { CodeOf } from './variables/code-of.ts';

interface TraceOptions extends ControlLimits {
  /** Numbers that earlier calls had at this point. */
  readonly history: NumberHistory;
  /** Numbers that come out of a graph break are no longer guarded by value, because they kept changing. */
  readonly numbersAreVolatile?: boolean;
  /** Selects the data-dependent decisions that become part of the program. */
  readonly controlPolicy?: ControlPolicy;
  /** The maximum number of instructions before the graph ends. */
  readonly traceLimit?: number;
  /** Called with each instruction before it is executed, for logs. */
  readonly onInstruction?: ((code: Code, pc: Pc) => void) | undefined;
  /** The facts that earlier calls have changed at this point. */
  readonly changing?: ChangingFacts;
  /** Notes the calls that are followed, and where ops are appended. */
  readonly sites?: OpSites;
  /** The later phases that process the programs of branches and loop bodies. */
  readonly regions: RegionPhases;
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
  const { result, gainsNothing, leavesCopies } = traceUntilSettled(entryFrames, codeOf, options);
  if (options.controlPolicy === 'possible' && endsWithDecision(result)) {
    // Lists and unions represent values of different structure; they pay off only if no graph break remains.
    const one = traceAsOne(entryFrames, codeOf, options);
    if (one instanceof TooManyPaths) return withDetail(result, one.message);
    if (one?.outcome.kind === 'return') return one;
  }
  // A full graph documents its copies; there is no other graph.
  const isWhole = options.controlPolicy === 'always';
  if (!gainsNothing && (isWhole || !leavesCopies)) return result;
  return traceUntilSettled(entryFrames, codeOf, { ...options, controlPolicy: 'functions' }).result;
}

/**
 * Traces with lists and unions, whose decisions may multiply. Returns null if the function needs too many paths, or if
 * copies leave the program.
 */
function traceAsOne(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
): TraceResult | TooManyPaths | null {
  const { pathBudget } = options;
  if (pathBudget?.isSpent) return null;
  const whole = { ...options, controlPolicy: 'always' } as const;
  const trace = () => traceUntilSettled(entryFrames, codeOf, whole);
  try {
    const { result, leavesCopies } = pathBudget ? pathBudget.within(trace) : trace();
    return leavesCopies ? null : result;
  } catch (error) {
    if (error instanceof TooManyPaths) return error;
    throw error;
  }
}

function withDetail(result: TraceResult, detail: string): TraceResult {
  const { outcome } = result;
  if (outcome.kind !== 'break') return result;
  const { record } = outcome;
  const extended = { ...record, detail: `${record.detail}; ${detail}` };
  return { ...result, outcome: { ...outcome, record: extended } };
}

function endsWithDecision({ outcome }: TraceResult): boolean {
  return outcome.kind === 'break' && isDecision(outcome.record.reason);
}

/** Traces until no restart is requested; each restart records what the trace should have known at its start. */
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
  const { sites = new OpSites(), changing = new ChangingFacts(false) } = options;
  const settings = {
    numbersAreVolatile,
    history,
    control,
    traceLimit,
    randomStream,
    sites,
    changing,
  };
  const tracer = new Tracer(entryFrames, codeOf, settings);
  tracer.execution = executionOf(tracer, {
    appendControl: (op, inputs, programs) => {
      tracer.control.copied.noteShared(inputs);
      return appendRegions(tracer, regions, op, inputs, programs);
    },
    appendCall: (...args) => appendTraced(tracer, regions, ...args),
    appendResizable: (...args) => appendResizable(tracer, regions, ...args),
  });
  tracer.onInstruction = options.onInstruction;
  let end: TraceEnd;
  try {
    end = execute(tracer);
    // Text that each run formats can't be read, so the break may be due to it: a key, a comparison, a length.
    if (end.kind === 'break' && control.formatsOuterNumbers) plans.enable('readsTexts');
    for (const each of tracer.autograd.checkpoints) each.expectAsItWas();
    const call = tracer.called.misplaced(tracer.builder, tracer.numbers);
    if (call && controlPolicy === 'always') plans.computeAt([call]);
    if (call) plans.restartWith('break', call.code, call.pc);
  } catch (error) {
    if (error instanceof RejectedEagerly) {
      return { result: refusedTrace(tracer, error), gainsNothing: false, leavesCopies: false };
    }
    throw error;
  }
  return finishedTrace(tracer, end, plans);
}
