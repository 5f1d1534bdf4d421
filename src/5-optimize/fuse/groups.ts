import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** Numbers of ops that one fused op may do, in their order. */
export type Group = readonly number[];

export interface GroupOptions {
  /** Values that an op may find missing, and values whose ops must stay as they are. */
  readonly fixed: ReadonlySet<ValueId>;
  /** The gradients that a value is computed from: a run without some of them leaves out whole groups. */
  readonly sourcesOf: (id: ValueId) => bigint;
  /** Between two ops of a group there are only views, and ops that may be parts themselves. */
  readonly adjacent: boolean;
}

/** The rules for members of one group: pointwise ops over one shape, or ops with rows in common. */
export interface GroupRules<Kind> {
  readonly mostParts: number;
  readonly mostOperands: number;
  /** Returns the kind of a group of this op alone; null if the op may not be part of a group. */
  begin(op: ProgramOp): Kind | null;
  /** Returns the kind of a group of these ops, which are connected; null where they can't be one. */
  join(one: Kind, other: Kind, group: Joined): Kind | null;
  /** Whether the op shows a value of a group under another name, which others of the group may read. */
  isAlias?(op: ProgramOp): boolean;
}

/** Returns rules that look at each op once for all searches. */
export function onceForEachOp<Kind>(rules: GroupRules<Kind>): GroupRules<Kind> {
  const kinds = new Map<ProgramOp, Kind | null>();
  return {
    mostParts: rules.mostParts,
    mostOperands: rules.mostOperands,
    begin(op) {
      let kind = kinds.get(op);
      if (kind === undefined) {
        kind = rules.begin(op);
        kinds.set(op, kind);
      }
      return kind;
    },
    join: (one, other, group) => rules.join(one, other, group),
    isAlias: (op) => rules.isAlias?.(op) ?? false,
  };
}

export interface Joined {
  readonly ops: readonly ProgramOp[];
  /** Values that they read and don't make. */
  readonly operands: readonly ValueId[];
}

interface OpenGroup<Kind> {
  ops: number[];
  /** Values that its ops name, and those that they make. */
  readonly values: Set<ValueId>;
  readonly defined: Set<ValueId>;
  /** The value by which a group's ops name each memory; null if there are several. */
  readonly touched: Map<ValueId, ValueId | null>;
  /** Memories that its ops make or write. */
  readonly made: Set<ValueId>;
  kind: Kind | null;
}

/**
 * Groups of at least two connected ops, each of which may run where its last op stands: no op outside of
 * a group reads between its first and last op what the group makes or writes, nor writes what the group reads. One
 * walk over the program.
 */
export function findGroups<Kind>(
  program: Program,
  rules: GroupRules<Kind>,
  options: GroupOptions,
): Group[] {
  const finder = new GroupFinder(program, rules, options);
  program.ops.forEach((op, index) => {
    finder.visit(op, index);
  });
  return finder.finish();
}

class GroupFinder<Kind> {
  readonly groups: number[][] = [];
  readonly #program: Program;
  readonly #rules: GroupRules<Kind>;
  readonly #options: GroupOptions;
  readonly #memory: ValueGroups;
  readonly #open = new Set<OpenGroup<Kind>>();
  /** Open groups by the memories that they touch. */
  readonly #touching = new Map<ValueId, Set<OpenGroup<Kind>>>();
  /** The values that aliases among the parts are views of. */
  readonly #shown = new Map<ValueId, ValueId>();

  constructor(program: Program, rules: GroupRules<Kind>, options: GroupOptions) {
    this.#program = program;
    this.#rules = rules;
    this.#options = options;
    this.#memory = new ValueGroups(program.ops, 'memory');
  }

  /** Ends the groups that are open at the end of the program. */
  finish(): Group[] {
    for (const group of [...this.#open]) this.#close(group);
    return this.groups.filter(({ length }) => length > 1);
  }

  visit(op: ProgramOp, index: number): void {
    const kind = this.#isPlain(op) ? this.#rules.begin(op) : null;
    const isAlias = kind === null && this.#isAliasInside(op);
    if (kind === null && !isAlias) {
      this.#passOutside(op);
      return;
    }
    if (isAlias) this.#shown.set(op.outputs[0]!, this.#named(op.inputs[0]!));
    let group = this.#groupOf(op, index, kind);
    for (const other of this.#conflicting(op, isAlias)) {
      const kind = this.#kindOfBoth(other, group);
      if (kind !== null) group = this.#joined(other, group, kind);
      else this.#close(other);
    }
    if (group.kind !== null) this.#add(group);
    else this.#shown.delete(op.outputs[0]!);
  }

  /** No value of it may be missing, nor has to stay the result of an op of its own. */
  #isPlain({ inputs, outputs }: ProgramOp): boolean {
    const { fixed } = this.#options;
    if (fixed.size === 0) return true;
    return !inputs.some((id) => fixed.has(id)) && !outputs.some((id) => fixed.has(id));
  }

  /** If several groups name the memory, the op joins the one that made the value. */
  #isAliasInside(op: ProgramOp): boolean {
    if (!this.#rules.isAlias?.(op) || !this.#isPlain(op)) return false;
    const base = op.inputs[0]!;
    for (const group of this.#touching.get(this.#memory.of(base)) ?? []) {
      if (group.defined.has(base)) return true;
    }
    return false;
  }

  /** Groups that must run before an op outside of them end here. */
  #passOutside(op: ProgramOp): void {
    const { kernel } = op.op;
    const isView = kernel.kind === 'view';
    const isBarrier = kernel.kind === 'control' || op.op.effect || op.op.mayRefuse;
    const ending =
      isBarrier || (this.#options.adjacent && !isView)
        ? [...this.#open]
        : this.#conflicting(op, isView);
    for (const group of ending) this.#close(group);
  }

  /** Open groups that write what the op touches, or touch what it writes, in their order. */
  #conflicting(op: ProgramOp, isView: boolean): OpenGroup<Kind>[] {
    const written = writtenOperands(op).map((i) => this.#memory.of(op.inputs[i]!));
    const read = op.before === undefined ? op.inputs : [...op.inputs, op.before];
    const found = new Set<OpenGroup<Kind>>();
    for (const id of read) {
      const memory = this.#memory.of(id);
      for (const group of this.#touching.get(memory) ?? []) {
        // A view reads no data: it only needs the memory to be there.
        const isTouched = isView ? group.defined.has(id) : group.made.has(memory);
        if (isTouched || written.includes(memory)) found.add(group);
      }
    }
    return found.size > 1 ? [...found].sort((a, b) => a.ops[0]! - b.ops[0]!) : [...found];
  }

  #named(id: ValueId): ValueId {
    return this.#shown.get(id) ?? id;
  }

  #groupOf(op: ProgramOp, index: number, kind: Kind | null): OpenGroup<Kind> {
    const touched = new Map<ValueId, ValueId | null>();
    const made = new Set<ValueId>();
    const values = new Set([...op.inputs, ...op.outputs]);
    const defined = new Set(op.outputs);
    for (const id of values) touch(touched, this.#memory.of(id), this.#named(id));
    if (kind !== null) for (const id of op.outputs) made.add(this.#memory.of(id));
    for (const i of writtenOperands(op)) made.add(this.#memory.of(op.inputs[i]!));
    return { ops: [index], values, defined, touched, made, kind };
  }

  /**
   * Returns the kind of both as one group; null where they can't be one. The checks that reject most pairs come first,
   * and nothing is copied for a pair that is rejected.
   */
  #kindOfBoth(earlier: OpenGroup<Kind>, later: OpenGroup<Kind>): Kind | null {
    const { mostParts, mostOperands } = this.#rules;
    if (earlier.ops.length + later.ops.length > mostParts) return null;
    if (!this.#haveSameSources(earlier.ops[0]!, later.ops[0]!)) return null;
    const operands: ValueId[] = [];
    const isMade = (id: ValueId) => earlier.defined.has(id) || later.defined.has(id);
    for (const id of earlier.values) if (!isMade(id)) operands.push(id);
    for (const id of later.values) if (!earlier.values.has(id) && !isMade(id)) operands.push(id);
    if (operands.length > mostOperands) return null;
    // Elements of what is written must be those that are read, one by one.
    const isNamedOnce = (memory: ValueId) => nameInBoth(earlier, later, memory) !== null;
    for (const memory of earlier.made) if (!isNamedOnce(memory)) return null;
    for (const memory of later.made) if (!isNamedOnce(memory)) return null;
    if (earlier.kind === null || later.kind === null) return earlier.kind ?? later.kind;
    const ops = inOrder(earlier.ops, later.ops).map((index) => this.#program.ops[index]!);
    return this.#rules.join(earlier.kind, later.kind, { ops, operands });
  }

  /** Adds what the later group has to the earlier one, which is no longer among the open groups. */
  #joined(
    earlier: OpenGroup<Kind>,
    { ops, values, defined, touched, made }: OpenGroup<Kind>,
    kind: Kind,
  ): OpenGroup<Kind> {
    this.#take(earlier);
    earlier.ops = inOrder(earlier.ops, ops);
    for (const id of values) earlier.values.add(id);
    for (const id of defined) earlier.defined.add(id);
    for (const [memory, id] of touched) touch(earlier.touched, memory, id);
    for (const memory of made) earlier.made.add(memory);
    earlier.kind = kind;
    return earlier;
  }

  #add(group: OpenGroup<Kind>): void {
    this.#open.add(group);
    for (const memory of group.touched.keys()) {
      const groups = this.#touching.get(memory);
      if (groups) groups.add(group);
      else this.#touching.set(memory, new Set([group]));
    }
  }

  #take(group: OpenGroup<Kind>): void {
    this.#open.delete(group);
    for (const memory of group.touched.keys()) this.#touching.get(memory)?.delete(group);
  }

  #close(group: OpenGroup<Kind>): void {
    this.#take(group);
    this.groups.push(group.ops);
  }

  #haveSameSources(a: number, b: number): boolean {
    const { ops } = this.#program;
    const { sourcesOf } = this.#options;
    return sourcesOf(writtenBy(ops[a]!)) === sourcesOf(writtenBy(ops[b]!));
  }
}

/** A value that the op makes or writes. */
function writtenBy(op: ProgramOp): ValueId {
  return op.outputs[0] ?? op.inputs[writtenOperands(op)[0] ?? 0]!;
}

function inOrder(a: readonly number[], b: readonly number[]): number[] {
  return [...a, ...b].sort((one, other) => one - other);
}

type Touched = Pick<OpenGroup<unknown>, 'touched'>;

/** The value by which both groups name a memory that one of them touches; null: there are several. */
function nameInBoth(a: Touched, b: Touched, memory: ValueId): ValueId | null {
  const [one, other] = [a.touched.get(memory), b.touched.get(memory)];
  if (one === undefined || other === undefined) return one ?? other ?? null;
  return one === other ? one : null;
}

/** Notes by which value a memory is named; null: by several. */
function touch(touched: Map<ValueId, ValueId | null>, memory: ValueId, id: ValueId | null): void {
  const known = touched.get(memory);
  touched.set(memory, known === undefined || known === id ? id : null);
}
