import { fitsDevice } from '../../../runtime/program/fused/fits-device.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { readIndices } from '../../programs/choices.ts';
import type { PassContext, Staged } from '../facts/pass.ts';
import { gradientSources } from './gradient-sources.ts';
import type { Group, GroupOptions } from './groups.ts';
import { oneOpAlike } from './known-groups.ts';
import { raisingGroups } from './raising-groups.ts';

/** The most programs to cost in each of two rounds of finding the groups that raise the peak. */
const mostTrials = 10;
/** The number of trials that use estimates to choose groups; later trials halve the remaining groups. */
const mostEstimates = 5;

/**
 * In: a program in the order of its plan. Out: the same program with groups of ops fused into one op each, at the
 * position of the group's last op, as long as the program needs no more bytes.
 *
 * A group reads its operands at the position of its last op, which may extend their live ranges. If a program with all
 * groups exceeds the limit, by default the bytes of the given program, the groups that raise the peak are replaced by
 * groups of adjacent ops. Only on a GPU may the peak exceed the limit, by what the saved dispatches are worth.
 */
export function fuseGroups(
  staged: Staged,
  context: PassContext,
  find: (options: GroupOptions) => Group[],
  limitOf = (bytes: number) => bytes,
): Staged {
  const { program } = staged;
  const staying = new Set([...program.outputs, ...staged.alsoRead]);
  const sources = gradientSources(program, context.gradients ?? []);
  const fixed = new Set([...(context.fixed ?? []), ...sources.joined]);
  const writer = new GroupWriter(program, staying);
  const groupsOf = (adjacent: boolean, done: ReadonlySet<number>) =>
    find({ fixed, sourcesOf: sources.of, adjacent }).flatMap((group) => writer.asOne(group, done));
  const groups = groupsOf(false, none);
  if (groups.length === 0) return staged;
  /** Groups of adjacent ops that replace rejected groups. */
  const others = (accepted: readonly Group[]): readonly Group[] =>
    groupsOf(true, new Set(accepted.flat()));
  const { choices } = context;
  const chosen = choices?.of('groups', (choice) => {
    const taken = readIndices(choice.get('taken'), groups.length).map((i) => groups[i]!);
    const adjacent = choice.get('adjacent');
    if (adjacent.items().length === 0) return taken;
    const more = others(taken);
    return [...taken, ...readIndices(adjacent, more.length).map((i) => more[i]!)];
  });
  if (chosen) return chosen.length > 0 ? { ...staged, program: writer.write(chosen) } : staged;
  const limit = limitOf(context.costOf(program));
  const found = trialsOf(program, (candidates) => {
    const written = writer.write(candidates);
    return [written, context.costOf(written) - limit - worthOf(program, candidates)];
  });
  found.takeMost(groups, () => raisingGroups(program, staying, new Set(context.available)));
  const taken = found.accepted;
  let adjacent: readonly Group[] = [];
  // A first plan skips the second search: it is ready sooner at the cost of a few more kernels.
  if (taken.length < groups.length && !context.isFirst) {
    adjacent = others(taken);
    found.takeMore(adjacent);
  }
  const { accepted, written } = found;
  const numbers = (of: readonly Group[], all: readonly Group[]) =>
    of.map((each) => all.indexOf(each));
  choices?.note('groups', {
    taken: numbers(taken, groups),
    adjacent: numbers(accepted.slice(taken.length), adjacent),
  });
  // Returns the same object that was costed, so the next pass finds its bytes cached.
  return accepted.length > 0 ? { ...staged, program: written } : staged;
}

type Trial = readonly [written: Program, excess: number];

/** Searches for groups with which the program stays within its limit. */
function trialsOf(program: Program, tryWith: (groups: readonly Group[]) => Trial) {
  let trials = 0;
  const found = { accepted: [] as readonly Group[], written: program, takeMost, takeMore };
  return found;

  /** Accepts all groups, or leaves out those that raise the peak: by estimates, then by halves. */
  function takeMost(groups: readonly Group[], raisingOf: () => ReturnType<typeof raisingGroups>) {
    let candidates = groups;
    let excess = excessWith(candidates);
    const raising = excess > 0 ? raisingOf() : null;
    while (raising && excess > 0 && trials < mostEstimates) {
      const fewer = raising.without(candidates, excess);
      if (fewer.length === candidates.length) break;
      candidates = fewer;
      excess = candidates.length > 0 ? excessWith(candidates) : 0;
    }
    if (excess > 0) takeHalves(candidates);
  }

  /** Starts a second round, with further groups. */
  function takeMore(groups: readonly Group[]): void {
    trials = 0;
    take(groups);
  }

  function take(candidates: readonly Group[]): void {
    if (candidates.length === 0 || trials >= mostTrials) return;
    if (excessWith(candidates) > 0) takeHalves(candidates);
  }

  function takeHalves(candidates: readonly Group[]): void {
    if (candidates.length < 2) return;
    const middle = candidates.length >> 1;
    take(candidates.slice(0, middle));
    take(candidates.slice(middle));
  }

  /** Returns the bytes by which these groups exceed the limit; accepts the groups if they don't. */
  function excessWith(candidates: readonly Group[]): number {
    trials++;
    const all = [...found.accepted, ...candidates];
    const [written, excess] = tryWith(all);
    if (excess <= 0) Object.assign(found, { accepted: all, written });
    return excess;
  }
}

/** Returns the program with each group fused into one op at the position of its last op. */
export function writeGroups(
  program: Program,
  staying: ReadonlySet<ValueId>,
  groups: readonly Group[],
): Program {
  if (groups.length === 0) return program;
  const writer = new GroupWriter(program, staying);
  return writer.write(groups.flatMap((group) => writer.asOne(group, none)));
}

const none: ReadonlySet<number> = new Set();

/** The bytes of peak memory that one saved GPU dispatch is worth. */
const dispatchBytes = 16 * 1024;

/** Returns the bytes that the groups may add to the peak in exchange for the dispatches they save. */
function worthOf({ ops, values }: Program, groups: readonly Group[]): number {
  const saved = groups.map((group) => {
    const { inputs, outputs } = ops[group[0]!]!;
    const isOnGpu = values[[...outputs, ...inputs][0]!]!.device.kind === 'gpu';
    return isOnGpu ? (group.length - 1) * dispatchBytes : 0;
  });
  return saved.reduce((sum, bytes) => sum + bytes, 0);
}

/** Writes programs with groups of ops fused into one op each; a fused op is built only once. */
class GroupWriter {
  readonly #program: Program;
  readonly #staying: ReadonlySet<ValueId>;
  /** By value: how often it is an operand. */
  readonly #reads: Int32Array;
  readonly #made = new Map<Group, ProgramOp>();
  #memory: ValueGroups | null = null;

  constructor(program: Program, staying: ReadonlySet<ValueId>) {
    this.#program = program;
    this.#staying = staying;
    this.#reads = new Int32Array(program.values.length);
    for (const { inputs, before } of program.ops) {
      for (const id of inputs) this.#reads[id]!++;
      if (before !== undefined) this.#reads[before]!++;
    }
  }

  /**
   * Returns the group as one fused op, without views at its end; as several if it is too large for the device; none if
   * another group has fused one of its ops (`done`).
   */
  asOne(group: Group, done: ReadonlySet<number>): Group[] {
    const { ops, values } = this.#program;
    const isView = (index: number) => ops[index]!.op.kernel.kind === 'view';
    const inner = this.#withoutOuterViews(group);
    const end = inner.findLastIndex((index) => !isView(index)) + 1;
    const kept = end === inner.length ? inner : inner.slice(0, end);
    if (kept.filter((index) => !isView(index)).length < 2) return [];
    const parts = kept.map((index) => ops[index]!);
    if (!this.#writesByOneName(parts)) return [];
    const isDone = kept.some((index) => done.has(index));
    if (isDone && this.#surelyFits(parts)) return [];
    const results = this.#resultsOf(kept);
    const twice = this.#shownTwice(parts, results);
    if (twice !== null) {
      // The view remains a separate op: no op of one side is between ops of the other.
      return [kept.slice(0, twice), kept.slice(twice + 1)].flatMap((each) =>
        this.asOne(each, done),
      );
    }
    const fused = oneOpAlike(parts, results, values);
    if (!fused) return [];
    if (!fitsDevice(fused, values)) return this.#halves(kept, done);
    if (isDone) return [];
    this.#made.set(kept, fused);
    return [kept];
  }

  /**
   * Returns the group without views of values that it doesn't compute, which parts of larger groups may contain: if
   * such a view were a result, no part would write its memory. It remains a separate op, which reads no data.
   */
  #withoutOuterViews(group: Group): Group {
    const { ops } = this.#program;
    if (!group.some((index) => ops[index]!.op.kernel.kind === 'view')) return group;
    const defined = new Set<ValueId>();
    const computing = group.filter((index) => {
      const { op, inputs, outputs } = ops[index]!;
      if (op.kernel.kind === 'view' && !defined.has(inputs[0]!)) return false;
      for (const id of outputs) defined.add(id);
      return true;
    });
    return computing.length === group.length ? group : computing;
  }

  /**
   * Whether the parts refer to the memory that they write through one value: they then write the elements that they
   * read.
   */
  #writesByOneName(parts: readonly ProgramOp[]): boolean {
    const written = parts.flatMap((part) => writtenOperands(part).map((i) => part.inputs[i]!));
    if (written.length === 0) return true;
    this.#memory ??= new ValueGroups(this.#program.ops, 'memory');
    const memory = this.#memory;
    const base = new Map<ValueId, ValueId>();
    const nameOf = new Map<ValueId, ValueId>(
      written.map((id): [ValueId, ValueId] => [memory.of(id), id]),
    );
    for (const { op, inputs, outputs } of parts) {
      if (op.kernel.kind === 'view') base.set(outputs[0]!, base.get(inputs[0]!) ?? inputs[0]!);
    }
    const named = (id: ValueId) => base.get(id) ?? id;
    return parts.every(({ inputs, outputs }) =>
      [...inputs, ...outputs].every((id) => {
        const name = nameOf.get(memory.of(id));
        return name === undefined || named(name) === named(id);
      }),
    );
  }

  /** Whether one op surely can bind all values of the parts on the device. */
  #surelyFits(parts: readonly ProgramOp[]): boolean {
    const named = new Set(parts.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]));
    const [first] = named;
    return (
      first !== undefined && named.size <= this.#program.values[first]!.device.mostFusedBuffers
    );
  }

  /** Each half may run at the position of its own last op if no op of the other half is between its ops. */
  #halves(group: Group, done: ReadonlySet<number>): Group[] {
    const middle = group.length >> 1;
    return [group.slice(0, middle), group.slice(middle)].flatMap((half) => this.asOne(half, done));
  }

  /** Writes each group as one op at the position of its last op. */
  write(groups: readonly Group[]): Program {
    const ops: (ProgramOp | null)[] = [...this.#program.ops];
    for (const group of groups) {
      for (const index of group) ops[index] = null;
      ops[group[group.length - 1]!] = this.#made.get(group)!;
    }
    return { ...this.#program, ops: ops.filter((op) => op !== null) };
  }

  /** Returns the values of the group that are read outside it. */
  #resultsOf(group: Group): ValueId[] {
    const parts = group.map((index) => this.#program.ops[index]!);
    const left = new Map<ValueId, number>();
    for (const { outputs } of parts) for (const id of outputs) left.set(id, this.#reads[id]!);
    for (const { inputs, before } of parts) {
      for (const id of inputs) if (left.has(id)) left.set(id, left.get(id)! - 1);
      if (before !== undefined && left.has(before)) left.set(before, left.get(before)! - 1);
    }
    return [...left].flatMap(([id, reads]) => (reads > 0 || this.#staying.has(id) ? [id] : []));
  }

  /**
   * Returns the index of a view that is a result together with its base or another view of the base; null if there is
   * none.
   */
  #shownTwice(parts: readonly ProgramOp[], results: readonly ValueId[]): number | null {
    if (!parts.some(({ op }) => op.kernel.kind === 'view')) return null;
    const base = new Map<ValueId, ValueId>();
    const shown = new Set<ValueId>();
    for (const [place, { op, inputs, outputs }] of parts.entries()) {
      if (op.kernel.kind === 'view') base.set(outputs[0]!, base.get(inputs[0]!) ?? inputs[0]!);
      for (const id of outputs) {
        if (!results.includes(id)) continue;
        const root = base.get(id) ?? id;
        if (shown.has(root)) return place;
        shown.add(root);
      }
    }
    return null;
  }
}
