import type { Plan, PredictedMemory } from '../../runtime/program/plan.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { type RunBytes, SimulatedRun } from '../../runtime/run-program/simulate/simulated-run.ts';
import type { Steps } from '../programs/steps.ts';
import { type Simulatable, simulate, worstCase } from './control/control-memory.ts';
import { UniformPath } from './control/uniform-path.ts';
import { enteringAlone, enteringWith } from './entering.ts';
import { OpMemories } from './op-memory.ts';
import type { GraphOptions } from './order/memory-graph.ts';
import { boundOf, orderForMemory, roughlyOrdered, roughPeak } from './order/order.ts';
import type { Storage } from './order/storages.ts';
import {
  type Planned,
  type PlanOptions,
  peakInOrder,
  planInOrder,
  type RewriteStage,
} from './plan-in-order.ts';

/**
 * Returns the bytes of a program's inputs plus the peak beside them, in a good order, or in the first order found
 * that needs at most `enough`.
 */
export function roughBytes(
  program: Program,
  donated: ReadonlySet<ValueId> = new Set(),
  enough = 0,
): number {
  return roughPeak(program, roughOptions(program, donated), enough);
}

/** Returns the program in a good order, with writes to memory of the caller as late as possible. */
export function roughOrder(program: Program, donated: ReadonlySet<ValueId> = new Set()): Program {
  return roughlyOrdered(program, roughOptions(program, donated));
}

function roughOptions({ values, inputs }: Program, donated: ReadonlySet<ValueId>): GraphOptions {
  const entering = (id: ValueId) => {
    return { bytes: bytesOf(values, id), exclusive: donated.has(id) };
  };
  const keep = inputs.filter((id) => !donated.has(id));
  return { keep, carried: new Map(), entering, reuse: true };
}

/**
 * In: a program. Out: an order of its ops with a low peak, the step after which each value leaves the scope (its
 * last use), the outputs that take over the memory of a dying operand, and the resulting bytes. Guarantees: the
 * predicted bytes are exactly those that the allocator will count; for a program with control ops, on its worst
 * path.
 */
export function* planProgram(given: Program, options: PlanOptions): Steps<Planned> {
  const carried = options.carried ?? new Map<ValueId, Storage>();
  const graph = {
    keep: options.keep,
    carried,
    entering: enteringWith(given, options),
    reuse: options.memory.reuse,
  };
  if (given.ops.some(({ op }) => op.kernel.kind === 'control')) {
    return yield* planWithControl(given, options, graph);
  }
  const { isFirst } = options;
  const { program, lowerBound } = mayReorder(options)
    ? yield* orderForMemory(given, graph, options)
    : { program: given, lowerBound: isFirst ? 0 : boundOf(given, graph) };
  yield;
  const memories = new OpMemories(given.values);
  const inOrder = (each: Program, bound: number) =>
    planInOrder(each, given, options, bound, memories);
  const peakOf = (each: Program) => peakInOrder(each, options, memories);
  const fused = rewrittenBy(options, program, 'ordered', peakOf);
  yield;
  const again = fused === program ? fused : yield* reordered(fused, graph, options, peakOf);
  yield;
  // In the last order: what one launch for several updates keeps live must not bound an order with a lower peak.
  const rewritten = rewrittenBy(options, again, 'fused', peakOf, peakOf(fused));
  return predicted(inOrder(rewritten, lowerBound), given, options);
}

/** A fused op allocates and frees differently than the ops it replaces: another order may need less. */
function* reordered(
  fused: Program,
  graph: GraphOptions,
  options: PlanOptions,
  peakOf: (program: Program) => number,
): Steps<Program> {
  if (!mayReorder(options) || options.isFirst) return fused;
  const { program } = yield* orderForMemory(fused, graph, { ...options, isBounded: false });
  return program !== fused && peakOf(program) < peakOf(fused) ? program : fused;
}

/**
 * Replaces the estimated bytes by those that the executor counts on counting devices. It counts them when they are
 * first read: first calls read none.
 */
function predicted(planned: Planned, given: Program, options: PlanOptions): Planned {
  const { plan } = planned;
  const estimated = plan.predicted;
  // Not `options`, by which a plan would keep what made it.
  const simulatable = simulatableOf(given, options);
  const { after } = simulatable;
  let known: RunBytes | undefined;
  const counted = (): RunBytes => {
    known ??= countedBytes(plan, simulatable);
    return known;
  };
  const bytes: PredictedMemory = {
    ...estimated,
    get peakBytes() {
      return counted().peakBytes;
    },
    get lowerBoundBytes() {
      return Math.min(estimated.lowerBoundBytes, counted().peakBytes);
    },
    get savedBytes() {
      // For a backward these are the saved values, which the run doesn't count again.
      return after ? estimated.savedBytes : counted().savedBytes;
    },
    get outputBytes() {
      return counted().outputBytes;
    },
  };
  return { ...planned, plan: { ...plan, predicted: bytes } };
}

function countedBytes(plan: Plan, simulatable: Simulatable): RunBytes {
  const run = new SimulatedRun(simulatable.values, new UniformPath());
  const bytes = simulate(run, plan, simulatable);
  run.end();
  return bytes;
}

/** The program after the passes of a stage, or the program itself if nothing is rewritten. */
function rewrittenBy(
  { rewrite }: PlanOptions,
  program: Program,
  stage: RewriteStage,
  costOf: (program: Program) => number,
  peakBefore?: number,
): Program {
  return rewrite?.(program, stage, costOf, peakBefore) ?? program;
}

/** A rewritten program may need less than any order of the original ops. */
function atMost(planned: Planned): Planned {
  const { plan } = planned;
  const { peakBytes, lowerBoundBytes } = plan.predicted;
  if (lowerBoundBytes <= peakBytes) return planned;
  const predicted = { ...plan.predicted, lowerBoundBytes: peakBytes };
  return { ...planned, plan: { ...plan, predicted } };
}

function mayReorder({ memory }: PlanOptions): boolean {
  return memory.order && memory.freeAtLastUse;
}

/**
 * Simulates the plan on its worst path to find the memory that control ops use. The ops are then ordered like any
 * others; a new order is simulated as well, and kept if its worst path needs less.
 */
function* planWithControl(
  given: Program,
  options: PlanOptions,
  graph: GraphOptions,
): Steps<Planned> {
  const simulatable = simulatableOf(given, options);
  let best = planInOrder(given, given, options, 0);
  const { donatedBytes } = best;
  let worst = worstCase(best.plan, simulatable);
  if (mayReorder(options)) {
    const withControl = { ...graph, control: worst.control };
    const { program } = yield* orderForMemory(given, withControl, options);
    const other = planInOrder(program, given, options, 0);
    const otherWorst = worstCase(other.plan, simulatable);
    if (otherWorst.bytes.peakBytes < worst.bytes.peakBytes) {
      [best, worst] = [other, otherWorst];
    }
  }
  const peakOf = (each: Program) => {
    const trial = planInOrder(each, given, options, 0);
    return worstCase(trial.plan, simulatable).bytes.peakBytes;
  };
  const fused = rewrittenBy(options, best.program, 'ordered', peakOf);
  const rewritten = rewrittenBy(options, fused, 'fused', peakOf);
  const least = { ...graph, control: worst.control, least: true } as const;
  const lowerBound = options.isFirst ? 0 : boundOf(best.program, least);
  yield;
  if (rewritten !== best.program) {
    best = planInOrder(rewritten, given, options, 0);
    worst = worstCase(best.plan, simulatable);
  }
  const { run } = worst;
  const { peakBytes, savedBytes, outputBytes } = worst.bytes;
  const kept = new Map(best.kept);
  for (const { op } of best.plan.steps) {
    const tape = op.outputs.at(-1);
    if ((op.regions || op.call) && tape !== undefined && kept.has(tape)) {
      kept.set(tape, { bytes: run.tapeBytes(tape), exclusive: false, owners: 1 });
    }
  }
  const bytes = { peakBytes, savedBytes, outputBytes };
  const lowerBoundBytes = lowerBound - donatedBytes;
  const predicted = { ...bytes, lowerBoundBytes, copiedBytes: 0 };
  return atMost({ ...best, kept, plan: { ...best.plan, predicted } });
}

function simulatableOf({ values, inputs }: Program, options: PlanOptions): Simulatable {
  return { values, entering: enteringAlone(inputs, options), after: options.after ?? null };
}
