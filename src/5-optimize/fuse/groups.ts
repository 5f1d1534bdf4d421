import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** Indices of ops that one fused op can replace, in program order. */
export type Group = readonly number[];

export interface GroupOptions {
  /** Values that may be missing in a run, and values whose ops must not be fused. */
  readonly fixed: ReadonlySet<ValueId>;
  /** Returns the gradients that a value is computed from: a run that lacks some of them skips whole groups. */
  readonly sourcesOf: (id: ValueId) => bigint;
  /** Whether only views, and ops that could be members themselves, may be between two ops of a group. */
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
  /** Whether the op is a view that gives another name to a value of the group, and that other members may read. */
  isAlias?(op: ProgramOp): boolean;
}

/** Returns rules that inspect each op only once across all searches. */
export function onceForEachOp<Kind>(rules: GroupRules<Kind>): GroupRules<Kind> {
  const kinds = new Map<ProgramOp, Kind | null>();
  return {
    mostParts: rules.mostParts,
    mostOperands: rules.mostOperands,
    begin(op) {
      return getOrInsert(kinds, op, () => rules.begin(op));
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
  ops: readonly number[];
  operands: readonly ValueId[];
  readonly defined: ValueId[];
  /** Memories that the ops read or write. */
  readonly memories: number[];
  /** For each of these, the value through which the ops refer to it; null if there are several. */
  readonly names: (ValueId | null)[];
  /** Memories that the ops allocate or write. */
  readonly made: number[];
  /** Whether the ops refer to each of these through one value. */
  isNamed: boolean;
  kind: Kind | null;
}

/** Two groups merged into one. */
type MergedGroups<Kind> = Pick<OpenGroup<Kind>, 'ops' | 'operands'> & { readonly kind: Kind };

const none: readonly never[] = [];

/**
 * Finds groups of at least two connected ops that may run at the position of their last op: between the first and the
 * last op of a group, no op outside reads what the group computes or writes, or writes what the group reads. Walks the
 * program once.
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
  readonly groups: (readonly number[])[] = [];
  readonly #program: Program;
  readonly #rules: GroupRules<Kind>;
  readonly #options: GroupOptions;
  /** By value: the representative of its memory. */
  readonly #memory: Int32Array;
  /** By memory: 1 if an op writes it in place. */
  readonly #isWritten: Uint8Array;
  readonly #open = new Set<OpenGroup<Kind>>();
  /** By value: the open group whose op computes it. */
  readonly #definer: (OpenGroup<Kind> | undefined)[];
  /** By memory: the open groups whose ops allocate or write it. */
  readonly #makers: (OpenGroup<Kind>[] | undefined)[];
  /** By memory that an op writes: the open groups that read or write it. */
  readonly #touching = new Map<number, Set<OpenGroup<Kind>>>();
  /** For each alias among the members, the value that it views. */
  readonly #shown = new Map<ValueId, ValueId>();

  constructor(program: Program, rules: GroupRules<Kind>, options: GroupOptions) {
    this.#program = program;
    this.#rules = rules;
    this.#options = options;
    const groups = new ValueGroups(program.ops, 'memory');
    this.#memory = Int32Array.from(program.values, (_, id) => groups.of(id as ValueId));
    this.#definer = new Array(program.values.length);
    this.#makers = new Array(program.values.length);
    this.#isWritten = new Uint8Array(program.values.length);
    for (const op of program.ops) {
      for (const i of writtenOperands(op)) this.#isWritten[this.#memory[op.inputs[i]!]!] = 1;
    }
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
      const both = this.#asOne(other, group);
      if (both !== null) group = this.#joined(other, group, both);
      else this.#close(other);
    }
    if (group.kind !== null) this.#add(group);
    else this.#shown.delete(op.outputs[0]!);
  }

  /** Whether all of its values exist in every run and none must remain the result of a separate op. */
  #isPlain({ inputs, outputs }: ProgramOp): boolean {
    const { fixed } = this.#options;
    if (fixed.size === 0) return true;
    return !inputs.some((id) => fixed.has(id)) && !outputs.some((id) => fixed.has(id));
  }

  /** If several groups refer to the memory, the op joins the group that computed the value. */
  #isAliasInside(op: ProgramOp): boolean {
    if (!this.#rules.isAlias?.(op) || !this.#isPlain(op)) return false;
    return this.#definer[op.inputs[0]!] !== undefined;
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

  /** Open groups that write what the op reads or writes, or read what it writes, in order. */
  #conflicting(op: ProgramOp, isView: boolean): readonly OpenGroup<Kind>[] {
    // Most ops conflict with no open group.
    let found: OpenGroup<Kind>[] | undefined;
    const add = (group: OpenGroup<Kind>): void => {
      found ??= [];
      if (!found.includes(group)) found.push(group);
    };
    const read = op.before === undefined ? op.inputs : [...op.inputs, op.before];
    for (const id of read) {
      // A view reads no data: its memory only has to exist.
      if (isView) {
        const definer = this.#definer[id];
        if (definer) add(definer);
      } else for (const group of this.#makers[this.#memory[id]!] ?? none) add(group);
    }
    for (const i of writtenOperands(op)) {
      for (const group of this.#touching.get(this.#memory[op.inputs[i]!]!) ?? none) add(group);
    }
    return found?.sort((a, b) => a.ops[0]! - b.ops[0]!) ?? none;
  }

  #named(id: ValueId): ValueId {
    return this.#shown.get(id) ?? id;
  }

  #groupOf(op: ProgramOp, index: number, kind: Kind | null): OpenGroup<Kind> {
    const { inputs, outputs } = op;
    const operands: ValueId[] = [];
    for (const id of inputs) {
      if (!operands.includes(id) && !outputs.includes(id)) operands.push(id);
    }
    const group: OpenGroup<Kind> = {
      ops: [index],
      operands,
      defined: [...outputs],
      memories: [],
      names: [],
      made: [],
      isNamed: true,
      kind,
    };
    for (const id of inputs) touch(group, this.#memory[id]!, this.#named(id));
    for (const id of outputs) touch(group, this.#memory[id]!, this.#named(id));
    if (kind !== null) for (const id of outputs) make(group, this.#memory[id]!);
    for (const i of writtenOperands(op)) make(group, this.#memory[inputs[i]!]!);
    group.isNamed = group.made.every((memory) => nameIn(group, memory) !== null);
    return group;
  }

  /** Returns the merged group; null if the two can't form one. The checks that reject most pairs come first. */
  #asOne(earlier: OpenGroup<Kind>, later: OpenGroup<Kind>): MergedGroups<Kind> | null {
    const { mostParts, mostOperands } = this.#rules;
    if (earlier.ops.length + later.ops.length > mostParts) return null;
    if (!this.#haveSameSources(earlier.ops[0]!, later.ops[0]!)) return null;
    const operands: ValueId[] = [];
    for (const id of earlier.operands) if (!later.defined.includes(id)) operands.push(id);
    for (const id of later.operands) {
      if (this.#definer[id] !== earlier && !operands.includes(id)) operands.push(id);
    }
    if (operands.length > mostOperands) return null;
    if (!areNamedAlike(earlier, later)) return null;
    const ops = inOrder(earlier.ops, later.ops);
    if (earlier.kind === null || later.kind === null) {
      const kind = earlier.kind ?? later.kind;
      return kind === null ? null : { kind, ops, operands };
    }
    const all = this.#program.ops;
    const joined: Joined = {
      get ops() {
        return ops.map((index) => all[index]!);
      },
      operands,
    };
    const kind = this.#rules.join(earlier.kind, later.kind, joined);
    return kind === null ? null : { kind, ops, operands };
  }

  /** Merges the later group into the earlier one. */
  #joined(
    earlier: OpenGroup<Kind>,
    later: OpenGroup<Kind>,
    { kind, ops, operands }: MergedGroups<Kind>,
  ): OpenGroup<Kind> {
    this.#take(earlier);
    this.#take(later);
    earlier.ops = ops;
    earlier.operands = operands;
    for (const id of later.defined) earlier.defined.push(id);
    later.memories.forEach((memory, i) => {
      touch(earlier, memory, later.names[i]!);
    });
    for (const memory of later.made) make(earlier, memory);
    earlier.kind = kind;
    return earlier;
  }

  #add(group: OpenGroup<Kind>): void {
    this.#open.add(group);
    for (const id of group.defined) this.#definer[id] = group;
    for (const memory of group.made) {
      const makers = this.#makers[memory];
      if (makers) makers.push(group);
      else this.#makers[memory] = [group];
    }
    for (const memory of group.memories) {
      if (this.#isWritten[memory] === 0) continue;
      getOrInsert(this.#touching, memory, () => new Set()).add(group);
    }
  }

  #take(group: OpenGroup<Kind>): void {
    if (!this.#open.delete(group)) return;
    for (const id of group.defined) this.#definer[id] = undefined;
    for (const memory of group.made) {
      const makers = this.#makers[memory]!;
      makers.splice(makers.indexOf(group), 1);
    }
    for (const memory of group.memories) {
      if (this.#isWritten[memory] === 1) this.#touching.get(memory)!.delete(group);
    }
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

function inOrder(a: readonly number[], b: readonly number[]): readonly number[] {
  const both = [...a, ...b];
  return a.at(-1)! < b[0]! ? both : both.sort((one, other) => one - other);
}

type Named = Pick<OpenGroup<unknown>, 'memories' | 'names' | 'made' | 'isNamed'>;

/** Whether each memory written by either group has one name in both: it must be read element by element. */
function areNamedAlike(a: Named, b: Named): boolean {
  if (!a.isNamed || !b.isNamed) return false;
  return b.memories.every((memory, i) => {
    const at = a.memories.indexOf(memory);
    if (at < 0 || (b.names[i] !== null && a.names[at] === b.names[i])) return true;
    return !a.made.includes(memory) && !b.made.includes(memory);
  });
}

function nameIn({ memories, names }: Named, memory: number): ValueId | null {
  return names[memories.indexOf(memory)]!;
}

/** Records the value through which ops refer to a memory; null if there are several. */
function touch({ memories, names }: Named, memory: number, id: ValueId | null): void {
  const at = memories.indexOf(memory);
  if (at < 0) {
    memories.push(memory);
    names.push(id);
  } else if (names[at] !== id) names[at] = null;
}

function make({ made }: Named, memory: number): void {
  if (!made.includes(memory)) made.push(memory);
}
