import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { walkEvicting } from './eviction-walk.ts';
import type { MemoryUses } from './memory-uses.ts';
import type { EvictionPolicy } from './pressure.ts';
import type { Recomputed } from './recompute-in-backward.ts';
import { runAgain, runFromSecond, secondResult } from './run-again.ts';

/**
 * In: a program, and a policy. Out: the same program, with values evicted by the policy and recomputed before each op
 * of backward that reads an evicted one. Results are bitwise identical: the same ops on the same operands, with
 * counter-based random numbers.
 */
export function recomputeEvicted(uses: MemoryUses, policy: EvictionPolicy): Recomputed {
  const writer = new Writer(uses);
  const { ops, work } = walkEvicting(uses, policy, undefined, writer)!;
  return { program: writer.program, ops, work, again: writer.recomputed };
}

class Writer {
  readonly #uses: MemoryUses;
  readonly #values: TensorMeta[];
  readonly #result: ProgramOp[] = [];
  /** For each recomputed value, its current copy. */
  readonly #now = new Map<ValueId, ValueId>();
  /** Views of recomputed values, and their bases. */
  readonly #views = new Map<ValueId, { readonly of: ValueId; readonly view: ValueId }>();
  readonly recomputed = new Set<ValueId>();

  constructor(uses: MemoryUses) {
    this.#uses = uses;
    this.#values = [...uses.facts.program.values];
  }

  get program() {
    return { ...this.#uses.facts.program, values: this.#values, ops: this.#result };
  }

  readonly run = (index: number): void => {
    const { facts, isView } = this.#uses;
    const op = facts.program.ops[index]!;
    if (isView[index] === 1) {
      // Backward creates views of recomputed memory where it reads them.
      const isLate = !facts.isForward(index) && facts.canRecompute(facts.rootOf(op.outputs[0]!));
      if (!isLate) this.#result.push(op);
      return;
    }
    const inputs = this.#operandsOf(op);
    const isSame = inputs.every((id, i) => id === op.inputs[i]);
    this.#result.push(isSame ? op : { ...op, inputs });
  };

  readonly again = (index: number, isThere: (id: ValueId) => boolean): void => {
    const { facts } = this.#uses;
    const op = facts.program.ops[index]!;
    const inputs = this.#operandsOf(op);
    const second = secondResult(index, facts);
    if (second !== undefined && isThere(second)) {
      const known = this.#present(second);
      this.#result.push(runFromSecond(op, inputs, known, this.#recompute(op.outputs[0]!)));
      return;
    }
    const outputs = op.outputs.map((id) => this.#recompute(id));
    this.#result.push(runAgain(op, inputs, outputs));
  };

  #recompute(id: ValueId): ValueId {
    const copy = this.#define(id);
    this.#now.set(id, copy);
    this.recomputed.add(id);
    return copy;
  }

  #define(like: ValueId): ValueId {
    return (this.#values.push(this.#values[like]!) - 1) as ValueId;
  }

  #operandsOf({ op, inputs }: ProgramOp): readonly ValueId[] {
    return inputs.map((id, i) => (operandUse(op, i) === 'data' ? this.#present(id) : id));
  }

  /** Returns the current copy of the value; a view of recomputed memory is created again. */
  #present(id: ValueId): ValueId {
    const { facts } = this.#uses;
    const root = facts.rootOf(id);
    if (root === id) return this.#now.get(id) ?? id;
    const index = facts.definitionIndex(id);
    const isLate = !facts.isForward(index) && facts.canRecompute(root);
    if (!isLate && !this.#now.has(root)) return id;
    const view = facts.program.ops[index]!;
    const [base, ...rest] = view.inputs as [ValueId, ...ValueId[]];
    const of = this.#present(base);
    const known = this.#views.get(id);
    if (known?.of === of) return known.view;
    const copy = this.#define(id);
    this.#views.set(id, { of, view: copy });
    this.#result.push({ ...view, inputs: [of, ...rest], outputs: [copy], recordsGrad: false });
    return copy;
  }
}
