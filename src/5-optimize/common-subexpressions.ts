import { getOrInsert } from '../../runtime/collections/get-or-insert.ts';
import { sameAttrs } from '../../runtime/ops/core/prepared-call.ts';
import { isSymbolic } from '../../runtime/ops/numbers/symbolic-number.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import { nameGradientOp } from '../../runtime/program/optional-gradients.ts';
import { outputGradientOp } from '../../runtime/program/output-gradient-op.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { Steps } from '../programs/steps.ts';
import type { PassContext, Staged } from './facts/pass.ts';
import { isPure, SameValues } from './same-value.ts';
import { unlessLarger } from './unless-larger.ts';

const none: ReadonlySet<string> = new Set();

/**
 * In: a program. Out: a program in which the same op on the same operands runs once, and views of the same elements
 * with the same layout are one value: `x.t().t()` is `x`. Late ops share values of forward only if forward keeps
 * them anyway.
 */
export function shareSubexpressions(staged: Staged, context: PassContext): Steps<Staged> {
  return unlessLarger(staged, context, (same) => share(staged, same));
}

/**
 * For each value that the program computes, lists the earlier values with the same bits in memory that isn't
 * written.
 */
export function equalValues(program: Program): ReadonlyMap<ValueId, readonly ValueId[]> {
  const staged = { program, firstLate: program.ops.length, alsoRead: [] };
  const same = new SameValues(staged, { stage: 'traced' });
  const classes = new Classes(staged, same);
  const equal = new Map<ValueId, readonly ValueId[]>();
  program.ops.forEach((op, index) => {
    if (!isPure(op) || isMark(op)) {
      classes.add(op);
      return;
    }
    const before = classes.equalTo(op, index);
    const [id] = op.outputs as readonly [ValueId];
    if (!same.facts.isWritten(same.facts.rootOf(id))) equal.set(id, before);
  });
  return equal;
}

function share(staged: Staged, same: SameValues): void {
  const classes = new Classes(staged, same);
  staged.program.ops.forEach((op, index) => {
    if (!isPure(op) || isMark(op)) {
      classes.add(op);
      return;
    }
    const equal = classes.equalTo(op, index);
    // The latest equal value: its live range grows least.
    equal.findLast((id) => same.replace(op.outputs[0]!, id));
  });
}

/**
 * Classes of values with the same bits: results of one op on equal operands, or views of equal memory with one
 * layout.
 */
class Classes {
  readonly #staged: Staged;
  readonly #same: SameValues;
  /** For each value, the first one with the same bits. */
  readonly #first = new Map<ValueId, ValueId>();
  /** Ops by kind and operands; ops that differ only in attributes share a key. */
  readonly #ops = new Map<string, { readonly like: ProgramOp; readonly equal: ValueId[] }[]>();
  /** Views by memory and layout. */
  readonly #views = new Map<string, ValueId[]>();
  /** Views whose offset changes between runs, and views of them. */
  readonly #placed = new Set<ValueId>();
  /** Memory that callers get views of. */
  readonly #returned: ReadonlySet<ValueId>;

  constructor(staged: Staged, same: SameValues) {
    this.#staged = staged;
    this.#same = same;
    const returned = [...staged.program.outputs, ...staged.alsoRead];
    this.#returned = new Set(returned.map((id) => same.facts.memoryOf(id)));
    for (const id of staged.program.inputs) this.#views.set(this.#layout(id), [id]);
  }

  /** Adds an op whose results equal no earlier value. */
  add({ outputs }: ProgramOp): void {
    for (const id of outputs) {
      const shown = this.#equalViews(id);
      if (shown.length === 0) shown.push(id);
    }
  }

  /** Returns earlier values equal to the op's result, and adds the result to their class. */
  equalTo(op: ProgramOp, index: number): readonly ValueId[] {
    const [output] = op.outputs as readonly [ValueId];
    const isView = op.op.kernel.kind === 'view';
    if (isView && (hasSymbols(op) || this.#placed.has(op.inputs[0]!))) {
      this.#placed.add(output);
      return [];
    }
    if (!isView && this.#same.facts.isWritten(output)) {
      this.add(op);
      return [];
    }
    const equal = isView ? this.#equalViews(output) : this.#equalOps(op, index);
    const before = [...equal];
    equal.push(output);
    if (before.length > 0) this.#first.set(output, this.#firstOf(before[0]!));
    if (!isView) {
      const shown = this.#equalViews(output);
      if (!shown.includes(output)) shown.push(output);
    }
    return before;
  }

  #equalOps(op: ProgramOp, index: number): ValueId[] {
    const { facts } = this.#same;
    const operand = (id: ValueId) => `${this.#firstOf(id)}@${facts.versionAt(id, index)}`;
    // Reading a value of a checkpointed call outside the call would keep it live.
    const call = op.checkpoint ?? '';
    const key = `${op.op.name} ${call} ${op.inputs.map(operand).join()}`;
    const alike = getOrInsert(this.#ops, key, () => []);
    const known = alike.find(({ like }) => sameAttrs(like.attrs, op.attrs, none));
    if (known) return known.equal;
    const equal: ValueId[] = [];
    alike.push({ like: op, equal });
    return equal;
  }

  #equalViews(id: ValueId): ValueId[] {
    const key = this.#layout(id);
    const known = getOrInsert(this.#views, key, () => []);
    return known;
  }

  #firstOf(id: ValueId): ValueId {
    return this.#first.get(id) ?? id;
  }

  /** Views of equal memory are equal; if the memory is written, only views of the same memory are. */
  #layout(id: ValueId): string {
    const { facts } = this.#same;
    const { dtype, shape, strides, offset } = this.#staged.program.values[id]!;
    const root = facts.rootOf(id);
    const memory = facts.isWritten(root) ? root : this.#firstOf(root);
    // Callers can see which tensor a view is a view of.
    const base = this.#returned.has(facts.memoryOf(id)) ? facts.baseOf(id) : '';
    const present = facts.presentRootOf(id);
    const presence = present === root ? '' : present;
    return `${memory} ${presence} ${base} ${dtype} ${shape.join()} ${strides.join()} ${offset}`;
  }
}

function hasSymbols({ attrs }: ProgramOp): boolean {
  return Object.values(attrs).some(isSymbolic);
}

/** Whether the op marks a position in the graph rather than computing something. */
function isMark({ op }: ProgramOp): boolean {
  return op === aliasOp || op === nameGradientOp || op === outputGradientOp;
}
