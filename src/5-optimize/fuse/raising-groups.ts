import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../../../runtime/program/value-bytes.ts';
import type { Group } from './groups.ts';

/** Bytes that are live from one op to another, both included. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** Tells which groups to leave out where a program with all of them needs too much. */
export interface RaisingGroups {
  /** The groups without those by which the program is estimated to need the `excess` bytes. */
  without(groups: readonly Group[], excess: number): Group[];
}

/**
 * Estimates in one walk which memory is live at each op: an op that computes element by element takes over the memory
 * of an operand that dies, others don't. `freed`: the inputs that are freed after their last use.
 */
export function raisingGroups(
  program: Program,
  staying: ReadonlySet<ValueId>,
  freed: ReadonlySet<ValueId>,
): RaisingGroups {
  const ranges = liveRanges(program, staying, freed);
  const apart = liveBytes(program, ranges);
  return {
    without(groups, excess) {
      const live = apart.slice();
      const changes = groups.map((group) => changesBy(program, group, ranges));
      for (const each of changes) for (const change of each) apply(live, change, 1);
      const enough = live[highest(live)]! - excess;
      const kept = new Set(groups.keys());
      for (;;) {
        const top = highest(live);
        if (live[top]! <= enough) break;
        const worst = mostAt(kept, changes, top);
        if (worst === null) break;
        kept.delete(worst);
        for (const change of changes[worst]!) apply(live, change, -1);
      }
      return [...kept].map((g) => groups[g]!);
    },
  };
}

/** The number of the group that adds most to the bytes at an op; null: none adds any. */
function mostAt(
  kept: Iterable<number>,
  changes: readonly (readonly Change[])[],
  at: number,
): number | null {
  let worst: number | null = null;
  let most = 0;
  for (const g of kept) {
    const bytes = changeAt(changes[g]!, at);
    if (bytes > most) [worst, most] = [g, bytes];
  }
  return worst;
}

function apply(live: Float64Array, { from, to, bytes }: Change, sign: 1 | -1): void {
  for (let i = from; i <= to; i++) live[i]! += sign * bytes;
}

function highest(live: Float64Array): number {
  let top = 0;
  for (let i = 1; i < live.length; i++) if (live[i]! > live[top]!) top = i;
  return top;
}

/** Bytes that are live at each op, those that it takes over counted once. */
function liveBytes({ ops }: Program, ranges: LiveRanges): Float64Array {
  const live = new Float64Array(ops.length);
  for (const { made, last, bytes } of ranges.values()) {
    const [from, to] = [Math.max(made, 0), Math.min(last, live.length - 1)];
    const isTakenOver = last < live.length && to > from && isElementwise(ops[to]!);
    apply(live, { from, to: isTakenOver ? to - 1 : to, bytes }, 1);
  }
  return live;
}

interface LiveRange {
  /** The op that makes it; −1: an input. */
  readonly made: number;
  /** The op that reads it last; beyond the last op where it stays. */
  last: number;
  readonly bytes: number;
  /** Numbers of the ops that read it. */
  readonly readers: Set<number>;
}

class LiveRanges {
  readonly #roots = new Map<ValueId, ValueId>();
  readonly #ranges = new Map<ValueId, LiveRange>();

  values(): Iterable<LiveRange> {
    return this.#ranges.values();
  }

  of(id: ValueId): LiveRange | undefined {
    return this.#ranges.get(this.#rootOf(id));
  }

  begin(id: ValueId, range: LiveRange): void {
    this.#ranges.set(id, range);
  }

  show(view: ValueId, base: ValueId): void {
    this.#roots.set(view, this.#rootOf(base));
  }

  #rootOf(id: ValueId): ValueId {
    return this.#roots.get(id) ?? id;
  }
}

/** The memories that the program makes, and those of the inputs that it frees. */
function liveRanges(
  { ops, values, inputs }: Program,
  staying: ReadonlySet<ValueId>,
  freed: ReadonlySet<ValueId>,
): LiveRanges {
  const ranges = new LiveRanges();
  const begin = (id: ValueId, made: number) =>
    ranges.begin(id, { made, last: made, bytes: bytesOf(values, id), readers: new Set() });
  for (const id of inputs) if (freed.has(id)) begin(id, -1);
  ops.forEach(({ op, inputs: operands, outputs }, index) => {
    operands.forEach((id, i) => {
      const range = operandUse(op, i) === 'data' ? ranges.of(id) : undefined;
      if (!range || op.kernel.kind === 'view') return;
      range.last = index;
      range.readers.add(index);
    });
    if (op.kernel.kind === 'view') ranges.show(outputs[0]!, operands[0]!);
    else for (const id of outputs) begin(id, index);
  });
  for (const id of staying) {
    const range = ranges.of(id);
    if (range) range.last = ops.length;
  }
  return ranges;
}

/** The changes of live bytes if the ops of the group run at the position of its last one. */
function changesBy({ ops }: Program, group: Group, ranges: LiveRanges): Change[] {
  const changes: Change[] = [];
  const own = new Set(group);
  const end = group[group.length - 1]!;
  const seen = new Set<LiveRange>();
  for (const index of group) {
    const { op, inputs, outputs } = ops[index]!;
    for (const id of inputs) {
      const range = ranges.of(id);
      if (!range || seen.has(range) || own.has(range.made)) continue;
      seen.add(range);
      const { last, bytes } = range;
      if (last < end && own.has(last)) changes.push({ from: last, to: end - 1, bytes });
    }
    if (op.kernel.kind === 'view') continue;
    for (const id of outputs) {
      const range = ranges.of(id)!;
      const isInner = range.last < ops.length && [...range.readers].every((i) => own.has(i));
      const to = isInner ? range.last - 1 : end - 1;
      if (to >= index) changes.push({ from: index, to, bytes: -range.bytes });
    }
  }
  return changes;
}

function changeAt(changes: readonly Change[], at: number): number {
  let sum = 0;
  for (const { from, to, bytes } of changes) if (from <= at && at <= to) sum += bytes;
  return sum;
}

const isElementwise = ({ op }: ProgramOp): boolean =>
  op.kernel.kind === 'pointwise' || op.kernel.kind === 'fused';
