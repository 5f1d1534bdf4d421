import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { hasEffect } from '../../runtime/program/control-ops.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import { nameGradientOp } from '../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { ProgramFacts } from './facts/program-facts.ts';

/**
 * Makes ops read one value in place of another with the same bits. Collects replacements, rejects observable ones, and
 * drops the ops that computed replaced values.
 */
export class SameValues {
  readonly facts: ProgramFacts;
  readonly #staged: Staged;
  readonly #mayReplace: (id: ValueId) => boolean;
  /** Ops from here on run after the call: what they read is kept, and the caller may write in between. */
  readonly #firstLate: number;
  /** Memory that the caller can see: of inputs, outputs, and values read after the program. */
  readonly #callers: Set<ValueId>;
  readonly #returned: Set<ValueId>;
  /** Whether a caller may get the value itself: as an output, or through branches and loops that forward it. */
  readonly #isNamed: (id: ValueId) => boolean;
  /** Values that branches, loops and lists name. */
  readonly #toldApart: Set<ValueId>;
  /** Values that are no longer computed, with their replacements. */
  readonly #replaced = new Map<ValueId, ValueId>();
  /** Values computed under the name of an output whose own op is dropped. */
  readonly #renamed = new Map<ValueId, ValueId>();
  readonly #dropped = new Set<ValueId>();
  /** For each memory, the last op that reads it in place of another value. */
  readonly #readFor = new Map<ValueId, number>();

  /** `mayReplace`: called for each replacement that is not observable. */
  constructor(
    staged: Staged,
    { stage }: Pick<PassContext, 'stage'>,
    mayReplace: (id: ValueId) => boolean = () => true,
  ) {
    this.#staged = staged;
    this.#mayReplace = mayReplace;
    this.#firstLate = stage === 'joint' ? staged.firstLate : Number.POSITIVE_INFINITY;
    const { program, alsoRead } = staged;
    this.facts = ProgramFacts.of(program);
    const before = program.ops.flatMap(({ before }) => (before === undefined ? [] : [before]));
    const returned = [...program.outputs, ...alsoRead, ...before];
    const tensors = new ValueGroups(program.ops, 'tensor');
    const named = new Set(returned.map((id) => tensors.of(id)));
    this.#isNamed = (id) => named.has(tensors.of(id));
    this.#toldApart = toldApart(program, stage);
    const memoryOf = (id: ValueId) => this.facts.memoryOf(id);
    this.#returned = new Set(returned.map(memoryOf));
    this.#callers = new Set([...this.#returned, ...program.inputs.map(memoryOf)]);
  }

  /** Returns the operand after the replacements so far. */
  now(id: ValueId): ValueId {
    let current = id;
    for (;;) {
      const next = this.#replaced.get(current) ?? this.#renamed.get(current);
      if (next === undefined) return current;
      current = next;
    }
  }

  /** Makes readers of `id` read `equal` from now on. Returns false if that would be observable. */
  replace(id: ValueId, equal: ValueId): boolean {
    const { facts } = this;
    const same = this.now(equal);
    const { program } = this.#staged;
    const firstLate = this.#firstLate;
    const [a, b] = [program.values[same]!, program.values[id]!];
    if (!isSameMeta(a, b) || facts.isWritten(id) || facts.isWritten(same)) return false;
    if (this.#areToldApart(id, same)) return false;
    const root = facts.rootOf(id);
    const isView = root === facts.rootOf(same);
    // Callers can see whether an output has its own memory or is a view.
    if (this.#isNamed(id) && id !== root) return false;
    if (!isView && this.#returned.has(facts.memoryOf(id))) return this.#returnInstead(id, same);
    // If the other value is live where this one would be computed, sharing it needs no more memory.
    const isHeld = this.#callers.has(facts.memoryOf(same));
    if (!isView && !isHeld && this.#lastRead(same) < facts.definitionIndex(id)) return false;
    // Between forward and backward, sharing keeps the value live: recomputing it in backward costs less.
    const boundary = this.#staged.firstLate;
    const crosses = facts.definitionIndex(same) < boundary && facts.definitionIndex(id) >= boundary;
    if (!isView && crosses && facts.definitionIndex(same) >= 0) return false;
    const isLate = this.#lastRead(id) >= firstLate;
    const isEarly = facts.definitionIndex(id) < firstLate;
    if (!isView && isLate) {
      // The caller may write to memory that backward would read.
      if (this.#callers.has(facts.memoryOf(same))) return false;
      const isKept = this.#lastRead(same) >= firstLate;
      if (!isEarly && facts.definitionIndex(same) < firstLate && !isKept) return false;
    }
    if (!this.#mayReplace(id)) return false;
    this.#replaced.set(id, same);
    if (this.#toldApart.has(id)) this.#toldApart.add(same);
    this.#readFor.set(facts.rootOf(same), Math.max(this.#lastRead(same), this.#lastRead(id)));
    return true;
  }

  /** Whether both have names, which backward compares to add gradients in the order of eager execution. */
  #areToldApart(id: ValueId, same: ValueId): boolean {
    if (!this.#toldApart.has(id) || !this.#toldApart.has(same)) return false;
    const { ops, values } = this.#staged.program;
    const definition = ops[this.facts.definitionIndex(id)];
    const isConstant = definition?.inputs.length === 0;
    return !isConstant && dtypes[values[id]!.dtype].floating;
  }

  #lastRead(id: ValueId): number {
    const { facts } = this;
    return Math.max(facts.lastReadOfMemory(id), this.#readFor.get(facts.rootOf(id)) ?? -1);
  }

  /**
   * Makes the op that computes `same` compute the output `id`: the caller receives memory that only the program used.
   */
  #returnInstead(id: ValueId, same: ValueId): boolean {
    const { facts } = this;
    const { firstLate } = this.#staged;
    const isOwn = facts.rootOf(same) === same && facts.definitionIndex(same) >= 0;
    if (!isOwn || facts.rootOf(id) !== id || this.#callers.has(facts.memoryOf(same))) return false;
    // Between forward and backward, the caller may write to forward's results.
    const isEarly = facts.definitionIndex(id) < firstLate;
    const crosses = !isEarly && facts.definitionIndex(same) < firstLate;
    const isReadLate = this.#lastRead(same) >= firstLate;
    if (crosses || (isEarly && isReadLate) || !this.#mayReplace(id)) return false;
    this.#renamed.set(same, id);
    if (this.#toldApart.has(same)) this.#toldApart.add(id);
    this.#dropped.add(id);
    this.#callers.add(facts.memoryOf(same));
    this.#returned.add(facts.memoryOf(same));
    this.#readFor.set(id, Math.max(this.#lastRead(same), this.#lastRead(id)));
    return true;
  }

  /** Returns the program with all replacements applied. */
  rewrite(): Staged {
    const { program } = this.#staged;
    let { firstLate } = this.#staged;
    const ops: ProgramOp[] = [];
    program.ops.forEach((op, index) => {
      const isGone = (id: ValueId) => this.#replaced.has(id) || this.#dropped.has(id);
      if (op.outputs.length > 0 && op.outputs.every(isGone)) {
        if (index < this.#staged.firstLate) firstLate--;
        return;
      }
      const inputs = op.inputs.map((id) => this.now(id));
      const outputs = op.outputs.map((id) => this.#renamed.get(id) ?? id);
      const isSame = isSameList(inputs, op.inputs) && isSameList(outputs, op.outputs);
      ops.push(isSame ? op : { ...op, inputs, outputs });
    });
    return { ...this.#staged, program: { ...program, ops }, firstLate };
  }
}

/** Whether the op's result depends only on its operands' values and attributes, so that an equal op can replace it. */
export function isPure({ op, outputs, regions, call, before }: ProgramOp): boolean {
  if (regions || call || before !== undefined || outputs.length !== 1) return false;
  return op.kernel.kind !== 'control' && !hasEffect({ op });
}

/** Returns the values that get names as they enter or leave a branch, loop or list, or whose names are compared. */
function toldApart({ ops, inputs, outputs }: Program, stage: PassContext['stage']): Set<ValueId> {
  const named = ops.filter(({ op, regions }) => {
    const { kernel } = op;
    const isOfList = kernel.kind === 'control' && kernel.form === 'list';
    return regions || isOfList || op === nameGradientOp;
  });
  const operands = named.flatMap((op) => op.inputs);
  return new Set(stage === 'region' ? [...operands, ...inputs, ...outputs] : operands);
}

function isSameList(a: readonly ValueId[], b: readonly ValueId[]): boolean {
  return a.every((id, i) => id === b[i]);
}

function isSameMeta(a: TensorMeta, b: TensorMeta): boolean {
  return (
    a.dtype === b.dtype &&
    a.device === b.device &&
    a.offset === b.offset &&
    a.shape.join() === b.shape.join() &&
    a.strides.join() === b.strides.join()
  );
}
