import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../../../runtime/program/value-bytes.ts';
import type { Group } from './groups.ts';

/** Bytes that are live from one op to another, both inclusive. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** Chooses the groups to leave out if a program with all of them exceeds its bytes. */
interface RaisingGroups {
  /** Returns the groups without those estimated to cause the `excess` bytes. */
  without(groups: readonly Group[], excess: number): Group[];
}

/** The most ops to inspect, each time the one with the most live bytes: the program may be long. */
const mostTops = 64;

/**
 * Estimates in one walk which memory is live at each op, assuming that elementwise ops reuse the memory of an operand
 * at its last use and other ops don't. `freed`: inputs that are freed after their last use.
 */
export function raisingGroups(
  program: Program,
  staying: ReadonlySet<ValueId>,
  freed: ReadonlySet<ValueId>,
): RaisingGroups {
  const ranges = liveRanges(program, staying, freed);
  const apart = liveChanges(program, ranges);
  return {
    without(groups, excess) {
      const changes = groups.map((group) => changesBy(program, group, ranges));
      const live = sumOf([...apart, ...changes.flat()], program.ops.length);
      const enough = live[highest(live)]! - excess;
      const kept = new Set(groups.keys());
      for (let tops = 0; tops < mostTops; tops++) {
        const top = highest(live);
        if (live[top]! <= enough) break;
        const raising = raisingAt(kept, changes, top);
        if (raising.length === 0) break;
        for (const g of raising) {
          if (live[top]! <= enough) break;
          kept.delete(g);
          for (const { from, to, bytes } of changes[g]!)
            for (let i = from; i <= to; i++) live[i]! -= bytes;
        }
      }
      return [...kept].map((g) => groups[g]!);
    },
  };
}

/** Indices of the groups that add to the live bytes at an op, largest first. */
function raisingAt(
  kept: ReadonlySet<number>,
  changes: readonly (readonly Change[])[],
  at: number,
): number[] {
  return [...kept]
    .map((g) => ({ g, bytes: changeAt(changes[g]!, at) }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ g }) => g);
}

/** Returns the live bytes at each of `ops` ops. */
function sumOf(changes: readonly Change[], ops: number): Float64Array {
  const live = new Float64Array(ops + 1);
  for (const { from, to, bytes } of changes) {
    live[from]! += bytes;
    live[to + 1]! -= bytes;
  }
  for (let i = 1; i < ops; i++) live[i]! += live[i - 1]!;
  return live.subarray(0, ops);
}

function highest(live: Float64Array): number {
  let top = 0;
  for (let i = 1; i < live.length; i++) if (live[i]! > live[top]!) top = i;
  return top;
}

/** Live ranges by memory; memory that an op reuses for its result counts once. */
function liveChanges({ ops }: Program, ranges: LiveRanges): Change[] {
  return Array.from(new Set(ranges.values()), ({ made, last, bytes }) => {
    const [from, to] = [Math.max(made, 0), Math.min(last, ops.length - 1)];
    const isTakenOver = last < ops.length && to > from && isElementwise(ops[to]!);
    return { from, to: isTakenOver ? to - 1 : to, bytes };
  });
}

interface LiveRange {
  /** The op that allocates it; −1 for an input. */
  readonly made: number;
  /** The last op that reads it; beyond the last op if it outlives the program. */
  last: number;
  readonly bytes: number;
  /** Indices of the ops that read it, in order. */
  readonly readers: number[];
}

/** Live ranges by value; views share the range of their memory. */
type LiveRanges = ReadonlyMap<ValueId, LiveRange>;

/** Memories that the program allocates, and those of the inputs that it frees. */
function liveRanges(
  { ops, values, inputs }: Program,
  staying: ReadonlySet<ValueId>,
  freed: ReadonlySet<ValueId>,
): LiveRanges {
  const ranges = new Map<ValueId, LiveRange>();
  const begin = (id: ValueId, start: number) =>
    ranges.set(id, { made: start, last: start, bytes: bytesOf(values, id), readers: [] });
  for (const id of inputs) if (freed.has(id)) begin(id, -1);
  ops.forEach(({ op, inputs: operands, outputs }, index) => {
    if (op.kernel.kind === 'view') {
      const shown = ranges.get(operands[0]!);
      if (shown) ranges.set(outputs[0]!, shown);
      return;
    }
    operands.forEach((id, i) => {
      const range = operandUse(op, i) === 'data' ? ranges.get(id) : undefined;
      if (!range) return;
      if (range.last !== index) range.readers.push(index);
      range.last = index;
    });
    for (const id of outputs) begin(id, index);
  });
  for (const id of staying) {
    const range = ranges.get(id);
    if (range) range.last = ops.length;
  }
  return ranges;
}

/** Returns the changes of live bytes if the group's ops run at the position of the last one. */
function changesBy({ ops }: Program, group: Group, ranges: LiveRanges): Change[] {
  const changes: Change[] = [];
  const members = new Set(group);
  const end = group[group.length - 1]!;
  const seen = new Set<LiveRange>();
  for (const index of group) {
    const { op, inputs, outputs } = ops[index]!;
    for (const id of inputs) {
      const range = ranges.get(id);
      if (!range || seen.has(range) || members.has(range.made)) continue;
      seen.add(range);
      const { last, bytes } = range;
      if (last < end && members.has(last)) changes.push({ from: last, to: end - 1, bytes });
    }
    if (op.kernel.kind === 'view') continue;
    for (const id of outputs) {
      const range = ranges.get(id)!;
      const isInner = range.last < ops.length && range.readers.every((i) => members.has(i));
      const to = isInner ? range.last - 1 : end - 1;
      if (to >= index) changes.push({ from: index, to, bytes: -range.bytes });
    }
  }
  return changes;
}

function changeAt(changes: readonly Change[], at: number): number {
  const there = changes.filter(({ from, to }) => from <= at && at <= to);
  return there.reduce((sum, { bytes }) => sum + bytes, 0);
}

const isElementwise = ({ op }: ProgramOp): boolean =>
  op.kernel.kind === 'pointwise' || op.kernel.kind === 'fused';
