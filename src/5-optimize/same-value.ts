import { hasEffect } from '../../runtime/program/control-ops.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { TensorMeta } from '../../runtime/tensor/meta.ts';
import type { PassContext, Staged } from './pass.ts';
import { ProgramFacts } from './program-facts.ts';

/**
 * Rewrites of a program in which ops read one value in place of another with the same bits. Collects
 * replacements, refuses those that could be seen, and drops the ops that made what is replaced.
 */
export class SameValues {
  readonly facts: ProgramFacts;
  readonly #given: Staged;
  /** Ops from here on run later than the call: what they read is kept, and the caller may write in between. */
  readonly #firstLate: number;
  /** Memory that the caller sees: of inputs, of outputs, and of values that are read beside them. */
  readonly #callers: ReadonlySet<ValueId>;
  readonly #returned: ReadonlySet<ValueId>;
  /** Values that are returned themselves, by their numbers. */
  readonly #named: ReadonlySet<ValueId>;
  readonly #replaced = new Map<ValueId, ValueId>();

  constructor(given: Staged, { stage }: PassContext) {
    this.#given = given;
    this.#firstLate = stage === 'joint' ? given.firstLate : Number.POSITIVE_INFINITY;
    const { program, alsoRead } = given;
    this.facts = new ProgramFacts(program);
    const before = program.ops.flatMap(({ before }) => (before === undefined ? [] : [before]));
    const returned = [...program.outputs, ...alsoRead, ...before];
    this.#named = new Set(returned);
    this.#returned = new Set(returned.map((id) => this.facts.rootOf(id)));
    this.#callers = new Set([...this.#returned, ...program.inputs]);
  }

  /** What an operand is after the replacements so far. */
  now(id: ValueId): ValueId {
    return this.#replaced.get(id) ?? id;
  }

  /** Readers of `id` read `same` from now on, where nobody can tell. False: they can. */
  replace(id: ValueId, same: ValueId): boolean {
    const { facts } = this;
    const { program } = this.#given;
    const firstLate = this.#firstLate;
    const [a, b] = [program.values[same]!, program.values[id]!];
    if (!isSameMeta(a, b) || facts.isWritten(id) || facts.isWritten(same)) return false;
    const root = facts.rootOf(id);
    const isView = root === facts.rootOf(same);
    // An output has memory of its own, or is a view: callers see which.
    if (this.#named.has(id) || (!isView && this.#returned.has(root))) return false;
    // A value that is live where the other would be made: sharing it needs no more memory.
    if (!isView && facts.lastReadOfMemory(same) < facts.definitionIndex(id)) return false;
    // From forward to backward a value is live only if it is kept: one that backward makes anew costs less.
    const boundary = this.#given.firstLate;
    const crosses = facts.definitionIndex(same) < boundary && facts.definitionIndex(id) >= boundary;
    if (!isView && crosses && facts.definitionIndex(same) >= 0) return false;
    const isLate = facts.lastReadOfMemory(id) >= firstLate;
    const isEarly = facts.definitionIndex(id) < firstLate;
    if (!isView && isLate) {
      // What backward keeps of the caller's memory, the caller may write to in between.
      if (this.#callers.has(facts.rootOf(same))) return false;
      const isKept = facts.lastReadOfMemory(same) >= firstLate;
      if (!isEarly && facts.definitionIndex(same) < firstLate && !isKept) return false;
    }
    this.#replaced.set(id, same);
    return true;
  }

  get isEmpty(): boolean {
    return this.#replaced.size === 0;
  }

  /** The program with the replacements made. */
  rewrite(): Staged {
    const { program } = this.#given;
    let { firstLate } = this.#given;
    const ops: ProgramOp[] = [];
    program.ops.forEach((op, index) => {
      if (op.outputs.length > 0 && op.outputs.every((id) => this.#replaced.has(id))) {
        if (index < this.#given.firstLate) firstLate--;
        return;
      }
      const inputs = op.inputs.map((id) => this.now(id));
      ops.push(inputs.every((id, i) => id === op.inputs[i]) ? op : { ...op, inputs });
    });
    return { ...this.#given, program: { ...program, ops }, firstLate };
  }
}

/** An op whose result depends on its operands' values and attributes alone, and that others may stand in for. */
export function isPure({ op, outputs, regions, call, before }: ProgramOp): boolean {
  if (regions || call || before !== undefined || outputs.length !== 1) return false;
  return op.kernel.kind !== 'control' && !hasEffect({ op });
}

/** The rewrite, unless it needs more bytes. */
export function unlessLarger(given: Staged, same: SameValues, { costOf }: PassContext): Staged {
  if (same.isEmpty) return given;
  const after = same.rewrite();
  return costOf(withRead(after)) <= costOf(withRead(given)) ? after : given;
}

function withRead({ program, alsoRead }: Staged): Program {
  return { ...program, outputs: [...new Set([...alsoRead, ...program.outputs])] };
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
