import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** Indices of ops that one fused op can replace, in order. */
export type Group = readonly number[];

export interface GroupOptions {
  /** Values that may be missing in a run, and values whose ops must stay as they are. */
  readonly fixed: ReadonlySet<ValueId>;
  /** The gradients that a value is computed from: a run that lacks some of them skips whole groups. */
  readonly sourcesOf: (id: ValueId) => bigint;
  /** Only views, and ops that could be members themselves, may stand between two ops of a group. */
  readonly adjacent: boolean;
}

/** The rules for members of one group: pointwise ops over one shape, or ops with rows in common. */
export interface GroupRules<Kind> {
  readonly mostParts: number;
  readonly mostOperands: number;
  /** Returns the kind of a group of this op alone; null if the op can't be in a group. */
  begin(op: ProgramOp): Kind | null;
  /** Returns the kind of a group of these connected ops; null if they can't form one. */
  join(one: Kind, other: Kind, group: Joined): Kind | null;
  /** Whether the op is a view under another name of a value of the group, which other members may read. */
  isAlias?(op: ProgramOp): boolean;
}

/** Returns rules that inspect each op only once for all searches. */
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
  /** Values that the ops read but don't compute. */
  readonly operands: readonly ValueId[];
}

interface OpenGroup<Kind> {
  ops: number[];
  /** Values that the ops read or compute. */
  readonly values: Set<ValueId>;
  readonly defined: Set<ValueId>;
  /** For each memory, the value by which the group's ops name it; null if there are several. */
  readonly touched: Map<ValueId, ValueId | null>;
  /** Memories that the ops allocate or write. */
  readonly made: Set<ValueId>;
  kind: Kind | null;
}

/**
 * Finds groups of at least two connected ops that may run where their last op stands: between the first and the
 * last op of a group, no op outside reads what the group computes or writes, or writes what the group reads. One
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
  /** Open groups by the memories they touch. */
  readonly #touching = new Map<ValueId, Set<OpenGroup<Kind>>>();
  /** For each alias among the members, the value that it views. */
  readonly #shown = new Map<ValueId, ValueId>();

  constructor(program: Program, rules: GroupRules<Kind>, options: GroupOptions) {
    this.#program = program;
    this.#rules = rules;
    this.#options = options;
    this.#memory = new ValueGroups(program.ops, 'memory');
  }

  /** Closes the groups that are open at the end of the program. */
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

  /** Whether none of its values may be missing or must remain the result of a separate op. */
  #isPlain({ inputs, outputs }: ProgramOp): boolean {
    const { fixed } = this.#options;
    if (fixed.size === 0) return true;
    return !inputs.some((id) => fixed.has(id)) && !outputs.some((id) => fixed.has(id));
  }

  /** If several groups name the memory, the op joins the group that computed the value. */
  #isAliasInside(op: ProgramOp): boolean {
    if (!this.#rules.isAlias?.(op) || !this.#isPlain(op)) return false;
    const base = op.inputs[0]!;
    for (const group of this.#touching.get(this.#memory.of(base)) ?? []) {
      if (group.defined.has(base)) return true;
    }
    return false;
  }

  /** Closes the groups that must run before an op outside them. */
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

  /** Open groups that write what the op touches, or touch what it writes, in order. */
  #conflicting(op: ProgramOp, isView: boolean): OpenGroup<Kind>[] {
    const written = writtenOperands(op).map((i) => this.#memory.of(op.inputs[i]!));
    const read = op.before === undefined ? op.inputs : [...op.inputs, op.before];
    const found = new Set<OpenGroup<Kind>>();
    for (const id of read) {
      const memory = this.#memory.of(id);
      for (const group of this.#touching.get(memory) ?? []) {
        // A view reads no data: its memory only has to exist.
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
   * Returns the kind of both as one group; null if they can't form one. The checks that reject most pairs come
   * first, and nothing is copied for rejected pairs.
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
    // A written memory must be read element by element under the same name.
    const isNamedOnce = (memory: ValueId) => nameInBoth(earlier, later, memory) !== null;
    for (const memory of earlier.made) if (!isNamedOnce(memory)) return null;
    for (const memory of later.made) if (!isNamedOnce(memory)) return null;
    if (earlier.kind === null || later.kind === null) return earlier.kind ?? later.kind;
    const ops = inOrder(earlier.ops, later.ops).map((index) => this.#program.ops[index]!);
    return this.#rules.join(earlier.kind, later.kind, { ops, operands });
  }

  /** Merges the later group into the earlier one, and removes it from the open groups. */
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

/** The value that the op computes or writes. */
function writtenBy(op: ProgramOp): ValueId {
  return op.outputs[0] ?? op.inputs[writtenOperands(op)[0] ?? 0]!;
}

function inOrder(a: readonly number[], b: readonly number[]): number[] {
  return [...a, ...b].sort((one, other) => one - other);
}

type Touched = Pick<OpenGroup<unknown>, 'touched'>;

/** The value by which both groups name a memory that one of them touches; null if there are several. */
function nameInBoth(a: Touched, b: Touched, memory: ValueId): ValueId | null {
  const [one, other] = [a.touched.get(memory), b.touched.get(memory)];
  if (one === undefined || other === undefined) return one ?? other ?? null;
  return one === other ? one : null;
}

/** Records the value by which a memory is named; null if there are several. */
function touch(touched: Map<ValueId, ValueId | null>, memory: ValueId, id: ValueId | null): void {
  const known = touched.get(memory);
  touched.set(memory, known === undefined || known === id ? id : null);
}
