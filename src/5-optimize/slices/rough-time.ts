import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { opWork } from '../recompute/op-work.ts';

/** Nanoseconds that a launch takes besides its work. */
const launchTime = 1500;
/** Operations per nanosecond of a large product or convolution. */
const productRate = 30;
/** Bytes per nanosecond: recently touched bytes, and all others. */
const cachedRate = 40;
const memoryRate = 10;
/** Memory is still in the cache if at most this many bytes were touched since its last use. */
const cacheBytes = 1 << 20;
/** Rows, columns and depth at which a product reaches half of its rate: tiles and packing have a cost. */
const halfRate = [6, 12, 16] as const;

/**
 * The numbers of threads that times are estimated for. A plan doesn't depend on the thread count of the machine that
 * makes it, and a machine that loads it doesn't plan again.
 */
const threadCounts = [1, 2, 8] as const;
/** Nanoseconds of work that justify a separate part. */
const leastPart = 7500;
/** The factor by which threads together read memory faster than one. */
const sharedMemory = 1.5;

/** Nanoseconds that a program takes, for each number of threads. */
export type EstimatedTimes = readonly number[];

/** Whether a program takes at most `share` of another program's time, on any number of threads. */
export function isNoSlower(times: EstimatedTimes, than: EstimatedTimes, share = 1): boolean {
  return times.every((time, i) => time <= than[i]! * share);
}

/**
 * A rough estimate of the nanoseconds that a program takes on a CPU, for comparing two equivalent programs. A
 * launch has a fixed cost, products run at a rate that depends on their shape, and everything else at the rate of
 * memory, or of the cache if the bytes were touched recently. Threads share the work of launches that are large
 * enough.
 */
export function roughTimes({ ops, values }: Program): EstimatedTimes {
  const roots = new Map<ValueId, ValueId>();
  /** For each memory, the total bytes touched when it was last used. */
  const touched = new Map<ValueId, number>();
  let clock = 0;
  const times = threadCounts.map(() => 0);
  const bytesOf = (id: ValueId) => {
    const { shape, dtype } = values[id]!;
    return sizeOf(shape) * dtypes[dtype].bytes;
  };
  /** Returns the nanoseconds that one thread takes for the bytes of a value, and whether they are in the cache. */
  const touch = (id: ValueId): readonly [nanoseconds: number, isCached: boolean] => {
    const root = roots.get(id) ?? id;
    const bytes = bytesOf(id);
    const before = touched.get(root);
    const isCached = before !== undefined && clock - before <= cacheBytes;
    clock += bytes;
    touched.set(root, clock);
    return [bytes / (isCached ? cachedRate : memoryRate), isCached];
  };
  for (const op of ops) {
    const { inputs, outputs } = op;
    if (op.op.kernel.kind === 'view') {
      roots.set(outputs[0]!, roots.get(inputs[0]!) ?? inputs[0]!);
      continue;
    }
    let [cached, moved] = [0, 0];
    for (const id of new Set([...inputs, ...outputs])) {
      const [nanoseconds, isCached] = touch(id);
      if (isCached) cached += nanoseconds;
      else moved += nanoseconds;
    }
    const arithmetic = arithmeticTime(op, values);
    const work = Math.max(cached + moved, arithmetic);
    for (const [i, threads] of threadCounts.entries()) {
      const parts = Math.max(1, Math.min(threads, Math.floor(work / leastPart)));
      const moving = cached / parts + moved / Math.min(parts, sharedMemory);
      times[i]! += launchTime + Math.max(moving, arithmetic / parts);
    }
  }
  return times;
}

function arithmeticTime(op: ProgramOp, values: Program['values']): number {
  if (op.parts) return op.parts.reduce((sum, part) => sum + arithmeticTime(part, values), 0);
  if (!op.op.work) return 0;
  const time = opWork(op, values) / productRate;
  if (op.op.name !== 'matmul') return time;
  const { shape } = values[op.outputs[0]!]!;
  const depth = values[op.inputs[0]!]!.shape.at(-1)!;
  const sizes = [shape.at(-2) ?? 1, shape.at(-1) ?? 1, depth];
  return sizes.reduce((sum, size, i) => sum * (1 + halfRate[i]! / size), time);
}
