import { events } from '../../../runtime/memory/events.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import { explain, rewriteAt } from '../../../src/explain/explain.ts';
import { predictedPeak } from '../../../src/explain/predicted-peak.ts';
import { printStages } from '../../../src/explain/print-stages.ts';
import { currentDevice, memory, refcounted, seed, Tensor, tidy } from '../../../src/index.ts';
import { recordTimeline, type Timeline } from '../../../src/lab/timeline.ts';
import type { CompiledPart } from '../../../src/programs/compiled-part.ts';
import { breakReasons } from '../../../src/traces/graph-break.ts';
import { closureOf } from '../../../src/vm/machine/run-frames.ts';
import type { Inspection, InspectRequest, MeasuredStep, ShownBreak } from '../messages.ts';
import { TextError } from './text-places.ts';
import { callOfUser, evaluate, fileName } from './user-module.ts';

/** Enough calls for optimizer counters to become inputs and for guards to match. */
const warmUps = 3;
const timedSteps = 5;

/** Runs the module's function eagerly and captured, each from the same seed with a fresh module. */
export function inspect(request: InspectRequest): Inspection {
  const { text, budgetShare, fullGraph } = request;
  const printed: string[] = [];
  const eager = tidy(() => {
    const { fn, args, before } = prepare(text, (line) => printed.push(line));
    return measure(refcounted(fn), args, before);
  });
  const options = { fullGraph, memory: { prefer: 'bytes' } } as const;
  const unlimited = tidy(() => measureCaptured(text, options));
  if (budgetShare >= 1)
    return { ...unlimited, eager, printed, budget: null, unlimited: unlimited.planned };
  const budget = Math.floor((unlimited.planned ?? 0) * budgetShare);
  const limited = tidy(() =>
    measureCaptured(text, { ...options, memory: { prefer: 'bytes', budget } }),
  );
  return { ...limited, eager, printed, budget, unlimited: unlimited.planned };
}

type Step = (...args: unknown[]) => unknown;

interface Prepared {
  readonly fn: Step;
  readonly args: unknown[];
  /** Bytes of earlier modules that haven't been collected yet. */
  readonly before: number;
}

function prepare(text: string, print: (line: string) => void): Prepared {
  const before = memory.stats().allocated;
  seed(1);
  const { exports } = evaluate(text, print);
  const { inputs } = exports;
  const [fn] = Object.entries(exports).flatMap(([name, value]) =>
    name !== 'inputs' && typeof value === 'function' ? [value as Step] : [],
  );
  if (closureOf(fn)?.code.isAsync) {
    throw new TextError('async functions are not shown here: export a synchronous one', start);
  }
  if (!fn) throw new TextError('no function is exported: export function step(x) { … }', start);
  if (typeof inputs !== 'function') {
    throw new TextError(
      'no inputs are exported: export const inputs = () => [randn([2, 3])];',
      start,
    );
  }
  const args: unknown = callOfUser(inputs as () => unknown);
  if (!Array.isArray(args))
    throw new TextError('inputs() returns the arguments as an array', start);
  return { fn, args, before };
}

const start = { line: 1, column: 1 };

type Options = NonNullable<ConstructorParameters<typeof Captured>[1]>;
type CapturedInspection = Omit<Inspection, 'eager' | 'printed' | 'budget' | 'unlimited'>;

function measureCaptured(text: string, options: Options): CapturedInspection {
  const { fn, args, before } = prepare(text, () => {});
  const captured = new Captured(fn, options);
  // Each program runs once with its first plan, then with the final one, which is shown.
  const run: Step = (...given) => {
    const result = captured.call(undefined, given);
    void captured.ready();
    return result;
  };
  const compiled = measure(run, args, before);
  // Ignores programs that only first calls run, before counters become inputs and gradients exist.
  const runs = captured.parts.map(({ record }) => record.runs);
  const { eager: eagerBefore } = captured.stats().kernels;
  release(run(...args));
  const parts = captured.parts.filter(({ record }, i) => record.runs !== (runs[i] ?? 0));
  const stats = captured.stats();
  const withOps = parts.filter(({ stages }) => stages !== null);
  const whole = withOps.at(-1);
  const isOneProgram = stats.breaks.length === 0 && whole !== undefined;
  let stepTime = Number.POSITIVE_INFINITY;
  for (let i = 0; i < timedSteps; i++) {
    const from = performance.now();
    release(run(...args));
    stepTime = Math.min(stepTime, performance.now() - from);
  }
  const code = captured.code?.closure.code;
  return {
    function: fn.name,
    compiled,
    predicted: isOneProgram ? predictedAbove(whole) : null,
    stepTime,
    graphs: withOps.length,
    ops: withOps.reduce((sum, { stages }) => sum + stages!.traced.ops.length, 0),
    eagerKernels: stats.kernels.eager - eagerBefore,
    planned: isOneProgram ? predictedPeak(whole.record) : null,
    breaks: stats.breaks.map((record): ShownBreak => {
      const { explanation, hint } = breakReasons[record.reason];
      const { line = 1, column = 1 } = record.at ?? {};
      const patch = rewriteAt(record, parts) ?? [];
      return { line, column, message: record.detail, why: explanation, hint, patch };
    }),
    opsByLine: opsByLine(parts),
    stages: code ? printStages(code, parts) : [],
    explanation: explain({ name: fn.name, dynamic: captured.dynamic, parts, stats: () => stats }),
  };
}

/** Returns the peak that the plan predicts above the bytes between steps. */
function predictedAbove({ record }: CompiledPart): number | null {
  const peak = predictedPeak(record);
  return peak === null ? null : Math.max(0, peak - record.releasedBytes);
}

/** Losses of the first steps, and the memory of the step after them. */
function measure(run: Step, args: unknown[], before: number): MeasuredStep {
  const device = currentDevice();
  const losses: string[] = [];
  for (let i = 0; i < warmUps; i++) {
    const result = run(...args);
    losses.push(shown(result));
    release(result);
  }
  memory.reset();
  const held = memory.stats().allocated - before;
  const kernelsBefore = events.kernels;
  const { result, timeline } = recordTimeline(device, () => {
    memory.mark('step');
    return run(...args);
  }, ['step']);
  const { peakAllocated, allocations } = memory.stats();
  const kernels = events.kernels - kernelsBefore;
  losses.push(shown(result));
  release(result);
  const peak = peakAllocated - before;
  return { losses, held, peak, allocations, kernels, timeline: above(before, timeline) };
}

/** Returns the timeline without bytes that existed before. */
function above(before: number, timeline: Timeline): Timeline {
  const points = timeline.points.map((point) => {
    return { ...point, allocated: point.allocated - before };
  });
  return {
    ...timeline,
    points,
    allocatedBefore: timeline.allocatedBefore - before,
    peak: timeline.peak - before,
  };
}

/** Prints small results as numbers, larger ones as shape and sum. */
function shown(result: unknown): string {
  const [first] = tensorsOf(result);
  if (!first) return String(result);
  if (first.numel() === 1) return String(first.itemSync());
  const sum = tidy(() => first.to('float64').sum().itemSync());
  return `${dtypes[first.dtype].bytes * 8} bit [${first.shape.join(', ')}], sum ${sum}`;
}

function tensorsOf(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  return Array.isArray(result) ? result.flatMap(tensorsOf) : [];
}

function release(result: unknown): void {
  for (const tensor of tensorsOf(result)) tensor.dispose();
}

/** Returns the ops of the forward programs by source line. */
function opsByLine(parts: readonly CompiledPart[]): [number, string[]][] {
  const lines = new Map<number, string[]>();
  for (const { stages } of parts) {
    for (const { op, at } of stages?.traced.ops ?? []) {
      if (at?.file !== fileName) continue;
      const ops = lines.get(at.line) ?? [];
      lines.set(at.line, ops);
      ops.push(op.name);
    }
  }
  return [...lines];
}
