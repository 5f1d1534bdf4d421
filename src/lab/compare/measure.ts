import type { Device } from '../../../runtime/device/device.ts';
import { isMetaRead, withMetaReads } from '../../../runtime/device/meta/meta-device.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { MemoryCounter } from '../../../runtime/memory/stats.ts';
import { seed } from '../../../runtime/random/seed.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { predictedPeak } from '../../explain/predicted-peak.ts';
import type { CompiledPart } from '../../programs/compiled-part.ts';
import { recordTimeline, type Timeline } from '../timeline.ts';
import { freeAtPeak } from './free-at-peak.ts';
import { byLine, type LineShare, recordPeak } from './peak-attribution.ts';
import { type SavedShare, savedBySource } from './saved-values.ts';
import type { Prepared, Variant } from './variants.ts';
import type { MeasuredStep, Subject, WorkloadOptions } from './workload.ts';

/** One planned subgraph of a variant, with its bytes. */
interface SubgraphResult {
  readonly ops: number;
  readonly forwardPeak: number;
  readonly backwardPeak: number | null;
  readonly lowerBound: number;
  readonly saved: number;
  readonly outputs: number;
  /** How the subgraph ends: a return, or the graph break after it. */
  readonly end: string;
}

/** The cost of running a training step as one variant: plain data, sent between processes. */
export interface VariantResult {
  readonly name: string;
  readonly title: string;
  readonly group: Variant['group'];
  /** Bytes allocated between steps: parameters, state and one batch. */
  readonly held: number;
  /** The peak of a step, everything included. */
  readonly peakAllocated: number;
  readonly peakReserved: number;
  /** Bytes reserved and free at the peak, and the share of the free bytes outside the largest block. */
  readonly freeAtPeak: number;
  readonly fragmentation: number;
  /** Bytes that forward saves for backward, with the loss; null if forward is not a separate call. */
  readonly keptAfterForward: number | null;
  /** The peak that the plan predicts, and a lower bound for any order; null if several programs run. */
  readonly predictedPeak: number | null;
  readonly lowerBound: number | null;
  readonly allocations: number;
  readonly frees: number;
  /** The budget of a step within one, and the recomputed share of forward's arithmetic. */
  readonly recomputed: { readonly budget: number; readonly share: number } | null;
  /** Milliseconds of the first step, which compiles, and of the fastest one after it. */
  readonly firstStep: number;
  readonly step: number;
  readonly graphs: number;
  /** Runs of subgraphs in one step: a graph in a loop, or in a function that is called often, runs several times. */
  readonly graphRuns: number;
  readonly breaks: number;
  readonly translations: number;
  /**
   * Kernels launched in subgraphs in all calls so far, and kernels that the captured function launched outside
   * them.
   */
  readonly staticKernels: number;
  readonly eagerKernels: number;
  /** Parts that ran as ordinary JavaScript, with the reason. */
  readonly fallbacks: readonly string[];
  /** The loss of every step; empty on a device that computes no values. */
  readonly losses: readonly number[];
  readonly subgraphs: readonly SubgraphResult[];
  readonly timeline: Timeline;
  readonly peakByLine: readonly LineShare[];
  readonly saved: readonly SavedShare[];
  /** Bytes still allocated after everything was freed. */
  readonly leaked: number;
}

interface MeasureOptions {
  readonly device: Device;
  readonly size: WorkloadOptions['size'];
  readonly batch?: number | undefined;
  /** The number of steps, after the compiling one, whose losses are compared and whose times are measured. */
  readonly steps: number;
}

const phases = ['forward', 'backward', 'update'];

/** Runs one variant of a workload, from the same seed as every other variant. The current device must be `device`. */
export function measureVariant(
  subject: Subject,
  variant: Variant,
  options: MeasureOptions,
): VariantResult {
  const { device, steps, size, batch: samples } = options;
  const { counter } = device.allocator;
  const atFirst = counter.allocated;
  seed(1);
  const prepared = variant.prepare((breaks) => {
    const count = samples === undefined ? {} : { batch: samples };
    return subject.build({ device: device.name, size, breaks, ...count });
  });
  const { workload, captured } = prepared;
  const batch = workload.inputs(0);
  const losses: number[] = [];
  const read = readsOf(workload, device);
  const run = () => runOnce(prepared, batch, read, losses);
  const firstStep = timed(run);
  // The second step compiles again if numbers change.
  run();
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < steps; i++) fastest = Math.min(fastest, timed(run));
  counter.reset();
  const held = counter.allocated;
  const runsBefore = runsOf(captured);
  run();
  const graphRuns = runsOf(captured) - runsBefore;
  const { peakAllocated, peakReserved, allocations, frees } = counter.snapshot();
  const { timeline } = recordTimeline(device, run, phases);
  const free = freeAtPeak(device, peakAllocated, run);
  const { attribution } = recordPeak(device, run);
  const keptAfterForward = prepared.forward && read(() => keptBy(prepared.forward!, batch, device));
  const result = {
    name: variant.name,
    title: variant.title,
    group: variant.group,
    held,
    peakAllocated,
    peakReserved,
    freeAtPeak: free?.free ?? 0,
    fragmentation: free?.free ? 1 - free.largest / free.free : 0,
    keptAfterForward,
    allocations,
    frees,
    firstStep,
    step: fastest,
    ...programFacts(prepared, held),
    graphRuns,
    losses,
    timeline,
    peakByLine: byLine(attribution),
  };
  return { ...result, leaked: leftAfter(workload, batch, counter, { atFirst, held }) };
}

/** Runs one step and frees its results; records its loss, except on a device that computes no values. */
function runOnce(
  { step }: Prepared,
  batch: readonly unknown[],
  read: ReturnType<typeof readsOf>,
  losses: number[],
): void {
  const result = read(() => step(...batch));
  if (result instanceof Promise) throw asynchronousStep();
  const results = [...tensorsOf(result)];
  const loss = results.find((tensor) => sizeOf(tensor.shape) === 1);
  if (loss && loss.device.kind !== 'meta') losses.push(loss.itemSync());
  for (const tensor of results) tensor.dispose();
}

/** Counts and bytes of the captured function's programs, as the comparison shows them. */
function programFacts(prepared: Prepared, held: number) {
  const { captured } = prepared;
  // Graphs that are too small run eagerly: their plans don't describe runs.
  const parts = captured?.parts.filter(({ tooSmall }) => !tooSmall) ?? [];
  const whole = wholeStep(prepared, parts);
  const stats = captured?.stats();
  return {
    predictedPeak: whole?.peak == null ? null : held + whole.peak,
    lowerBound: whole && held + whole.lowerBound,
    recomputed: whole?.recomputed ?? null,
    graphs: stats?.graphs ?? 0,
    breaks: stats?.breaks.length ?? 0,
    translations: stats?.translations ?? 0,
    staticKernels: stats?.kernels.static ?? 0,
    eagerKernels: stats?.kernels.eager ?? 0,
    fallbacks: stats?.fallbacks.map(({ why }) => why) ?? [],
    subgraphs: parts.flatMap(subgraphResult),
    saved: savedBySource(parts),
  };
}

function asynchronousStep(): ArgumentError {
  return new ArgumentError({
    what: 'compare: the step is asynchronous',
    given: 'a step that returns a Promise',
    expected: 'a step that has freed what it does not return when it returns',
    remedy: 'return the loss as a tensor, and await its value outside of the step',
  });
}

/** A workload must restore what existed before it was built; a plain step, after each run, what existed before. */
function leftAfter(
  { dispose }: MeasuredStep,
  batch: readonly unknown[],
  counter: MemoryCounter,
  { atFirst, held }: { readonly atFirst: number; readonly held: number },
): number {
  if (!dispose) return counter.allocated - held;
  for (const tensor of tensorsOf(batch)) tensor.dispose();
  dispose();
  return counter.allocated - atFirst;
}

/** Returns the tensors in plain arrays and objects, without duplicates. */
function tensorsOf(value: unknown, found = new Set<Tensor>()): Set<Tensor> {
  if (value instanceof Tensor) found.add(value);
  else if (Array.isArray(value)) for (const item of value) tensorsOf(item, found);
  else if (isPlainObject(value)) for (const item of Object.values(value)) tensorsOf(item, found);
  return found;
}

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/** Runs `body` so that it can read numbers: on `meta` it reads the numbers that the workload provides. */
function readsOf({ reads }: Prepared['workload'], { kind }: Device): <T>(body: () => T) => T {
  if (kind !== 'meta') return (body) => body();
  return (body) => {
    try {
      return withMetaReads(reads ?? [], body);
    } catch (error) {
      if (!isMetaRead(error)) throw error;
      throw new ArgumentError({
        what: 'compare: a step on meta reads a number that is not computed',
        given: `${reads?.length ?? 0} numbers in the workload's reads`,
        expected: 'one for every read of a step, in their order',
        remedy:
          'add them to what build() returns: reads: [3, true]; or measure on a device that computes',
      });
    }
  };
}

function runsOf(captured: Prepared['captured']): number {
  return captured?.parts.reduce((sum, { record }) => sum + record.runs, 0) ?? 0;
}

function timed(body: () => void): number {
  const start = performance.now();
  body();
  return performance.now() - start;
}

/** Returns the bytes that forward saves; parameters are unchanged, since backward doesn't run. */
function keptBy(
  forward: NonNullable<Prepared['forward']>,
  batch: readonly unknown[],
  device: Device,
): number {
  const { counter } = device.allocator;
  const before = counter.allocated;
  const loss = forward(...batch) as Tensor;
  const kept = counter.allocated - before;
  loss.dispose();
  return kept;
}

/** Returns the plan of a step that is one program: the last one compiled, which fits every later step. */
function wholeStep({ forward }: Prepared, parts: readonly CompiledPart[]) {
  if (forward) return null;
  const isWhole = parts.every(({ trace }) => trace.outcome.kind === 'return');
  const last = parts.findLast(({ stages }) => stages !== null);
  if (!isWhole || !last?.stages) return null;
  const { lowerBoundBytes } = last.stages.planned.forward.predicted;
  const { record } = last;
  const peak = predictedPeak(record);
  const above = (bytes: number) => Math.max(0, bytes - record.releasedBytes);
  const { recompute } = last.stages;
  // A result comes from a separate process, so it must be plain data.
  const recomputed = recompute && { budget: recompute.budget, share: recompute.share };
  const lowerBound = above(lowerBoundBytes);
  return { peak: peak === null ? null : above(peak), lowerBound, recomputed };
}

function subgraphResult({ stages, trace }: CompiledPart): SubgraphResult[] {
  if (!stages) return [];
  const { forward, backward } = stages.planned;
  const { peakBytes, lowerBoundBytes, savedBytes, outputBytes } = forward.predicted;
  const { outcome } = trace;
  return [
    {
      ops: stages.forward.ops.length,
      forwardPeak: peakBytes,
      backwardPeak: backward?.plan.predicted.peakBytes ?? null,
      lowerBound: lowerBoundBytes,
      saved: savedBytes,
      outputs: outputBytes,
      end: outcome.kind === 'return' ? 'return' : outcome.record.detail,
    },
  ];
}
