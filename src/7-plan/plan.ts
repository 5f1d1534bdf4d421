import { oncePerProgram, type Program, type ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { compileControl } from '../../runtime/run-program/control/compile-control.ts';
import { provideParts } from '../../runtime/run-program/later-parts.ts';
import { runBackward } from '../../runtime/run-program/run-backward.ts';
import { once } from '../programs/once.ts';
import type { Steps } from '../programs/steps.ts';
import type { Simulatable } from './control/simulate-plan.ts';
import type { WorstCase } from './control/worst-case.ts';
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
import {
  type PlanWithControl,
  predictedInOrder,
  predictedOnWorstPath,
  withControl,
} from './predicted-bytes.ts';

// What runs programs doesn't import these: pages may load them later, with a saved program.
provideParts({ compileControl, runBackward });

/** Returns the bytes of a program's inputs plus the peak beyond them, in a good order. */
export function roughBytes(program: Program, donated: ReadonlySet<ValueId> = new Set()): number {
  return roughPeak(program, roughOptions(program, donated));
}

/** Returns the program in a good order, with writes to the caller's memory as late as possible. */
export function roughOrder(program: Program, donated: ReadonlySet<ValueId> = new Set()): Program {
  return roughlyOrdered(program, roughOptions(program, donated));
}

function roughOptions({ values, inputs }: Program, donated: ReadonlySet<ValueId>): GraphOptions {
  const entering = (id: ValueId) => ({ bytes: bytesOf(values, id), exclusive: donated.has(id) });
  const keep = inputs.filter((id) => !donated.has(id));
  return { keep, carried: new Map(), entering, reuse: true };
}

/**
 * In: a program. Out: an order of its ops with a low peak, the step after which each value leaves the scope (its last
 * use), the outputs that reuse the memory of a dying operand, and the resulting bytes. Guarantees: the predicted bytes
 * are exactly those that the allocator will count; for a program with control ops, on its worst path.
 */
export function* planProgram(original: Program, options: PlanOptions): Steps<Planned> {
  const carried = options.carried ?? new Map<ValueId, Storage>();
  const graph = {
    keep: options.keep,
    carried,
    entering: enteringWith(original, options),
    reuse: options.memory.reuse,
  };
  if (original.ops.some(({ op }) => op.kernel.kind === 'control')) {
    return yield* planWithControl(original, options, graph);
  }
  let program = original;
  let lowerBound = boundInOrder(original, graph, options);
  if (mayReorder(options)) {
    const found = yield* orderForMemory(original, graph, options);
    program = found.program;
    lowerBound = found.lowerBound;
  }
  yield;
  const memories = new OpMemories(original.values);
  const costOf = (each: Program) => peakInOrder(each, options, memories);
  const fused = rewrittenBy(options, program, 'ordered', costOf);
  yield;
  const again = fused === program ? fused : yield* reordered(fused, graph, options, costOf);
  yield;
  // Runs in the last order: values that one launch for several updates keeps live must not rule out a lower peak.
  const rewritten = rewrittenBy(options, again, 'fused', costOf, costOf(fused));
  const planned = planInOrder(rewritten, original, options, memories);
  return predictedInOrder(planned, lowerBound, simulatableOf(original, options));
}

/** The bound of a program that keeps its order. Computed when it is read, since that takes as long as planning. */
const boundInOrder = (program: Program, graph: GraphOptions, { isFirst }: PlanOptions) =>
  isFirst ? () => 0 : once(() => boundOf(program, graph));

/** A fused op allocates and frees differently than the ops it replaces: another order may need less. */
function* reordered(
  fused: Program,
  graph: GraphOptions,
  options: PlanOptions,
  costOf: (program: Program) => number,
): Steps<Program> {
  if (!mayReorder(options) || options.isFirst) return fused;
  const { program } = yield* orderForMemory(fused, graph, options);
  return program !== fused && costOf(program) < costOf(fused) ? program : fused;
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

function mayReorder({ memory }: PlanOptions): boolean {
  return memory.order && memory.freeAtLastUse;
}

/**
 * Simulates the plan to find the memory that control ops use. The ops are then ordered like any others; a new order is
 * simulated as well, and kept if its worst path needs less.
 *
 * Plans are compared by the bytes of their uniform paths, which are lower bounds. All paths are simulated only for the
 * chosen plan, and for the others if it exceeds their bounds: one of them may then be better. A plan that keeps its
 * order is simulated when its bytes are read.
 */
function* planWithControl(
  original: Program,
  options: PlanOptions,
  graph: GraphOptions,
): Steps<Planned> {
  const simulatable = simulatableOf(original, options);
  const { isFirst, carried } = options;
  const counted = { ...options, ...(carried && { carried: withoutTapes(carried) }) };
  const inOrder = oncePerProgram((each) =>
    withControl(planInOrder(each, original, counted), simulatable, isFirst),
  );
  const orders = [inOrder(original)];
  if (mayReorder(options)) {
    const { control } = orders[0]!.bytes.estimate;
    const { program } = yield* orderForMemory(original, { ...graph, control }, options);
    orders.push(inOrder(program));
  }
  yield;
  const chosenBy = (bytesOf: (bytes: WorstCase) => number) => {
    const costOf = (each: Program) => bytesOf(inOrder(each).bytes);
    const best = orders.reduce((a, b) => (bytesOf(b.bytes) < bytesOf(a.bytes) ? b : a));
    const fused = rewrittenBy(options, best.planned.program, 'ordered', costOf);
    return { best, rewritten: inOrder(rewrittenBy(options, fused, 'fused', costOf)) };
  };
  let chosen = chosenBy(({ leastPeakBytes }) => leastPeakBytes);
  yield;
  if (!isFirst && orders.length > 1 && needsMore(chosen.rewritten, chosen.best)) {
    chosen = chosenBy(({ peakBytes }) => peakBytes);
    yield;
  }
  return predictedOnWorstPath(chosen.rewritten, boundOnWorstPath(chosen.best, graph, options));
}

/** Bytes counted in order are replaced by simulated bytes. */
function withoutTapes(carried: ReadonlyMap<ValueId, Storage>): Map<ValueId, Storage> {
  return new Map([...carried].map(([id, each]) => [id, each.isTape ? { ...emptyTape } : each]));
}

const emptyTape: Storage = { bytes: 0, exclusive: false, owners: 1 };

/** Whether the worst path of a rewritten plan exceeds the uniform paths of both plans. */
function needsMore({ bytes }: PlanWithControl, other: PlanWithControl): boolean {
  return bytes.peakBytes > Math.max(bytes.leastPeakBytes, other.bytes.leastPeakBytes);
}

/** Finds the worst path when the bound is read, unless it decided the order. */
function boundOnWorstPath(
  { planned, bytes }: PlanWithControl,
  graph: GraphOptions,
  options: PlanOptions,
): () => number {
  if (options.isFirst) return () => 0;
  const { program } = planned;
  return once(() => boundOf(program, { ...graph, control: bytes.worst.control, least: true }));
}

function simulatableOf({ values, inputs }: Program, options: PlanOptions): Simulatable {
  return { values, entering: enteringAlone(inputs, options), after: options.after ?? null };
}
