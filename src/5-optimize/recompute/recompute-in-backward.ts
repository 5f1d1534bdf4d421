import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { type ForwardFacts, isComputedFrom } from './forward-facts.ts';
import { opWork } from './op-work.ts';
import { runAgain, runFromSecond, secondResult } from './run-again.ts';
import { validity } from './validity.ts';

/** A program whose backward recomputes some values of forward. */
export interface Recomputed {
  readonly program: Program;
  /** The number of ops that run twice, not counting views. */
  readonly ops: number;
  /** Their rough number of arithmetic operations. */
  readonly work: number;
  /** The values of forward that they recompute. */
  readonly again: ReadonlySet<ValueId>;
}

/** A program with the ops that it runs again. */
interface RecomputedUnkept extends Recomputed {
  /** For each op before which others run again, its index and one of theirs; equal lists write the same program. */
  readonly runs: readonly number[];
}

/**
 * In: a program, and the memory that is kept from forward to backward. Out: the same program, whose backward recomputes
 * the rest of what it reads of forward, before the first op that reads it. Results are bitwise identical: the same ops
 * on the same operands, with counter-based random numbers. Values that can't be recomputed are kept as well. `brief`
 * intermediate values are not kept live for later ops, which recompute them again.
 */
export function recomputeInBackward(
  facts: ForwardFacts,
  stays: ReadonlySet<ValueId>,
  brief: ReadonlySet<ValueId> = new Set(),
): Recomputed {
  return recomputeAtMost(Number.POSITIVE_INFINITY, facts, stays, brief)!;
}

/** Recomputes in backward; null as soon as that takes more than `most` arithmetic. */
export function recomputeAtMost(
  most: number,
  facts: ForwardFacts,
  stays: ReadonlySet<ValueId>,
  brief: ReadonlySet<ValueId>,
): RecomputedUnkept | null {
  return new Rewriter(facts, stays, brief).run(most);
}

const nothing: readonly number[] = [];

class Rewriter {
  readonly #facts: ForwardFacts;
  readonly #program: Program;
  readonly #values: TensorMeta[];
  /** For each recomputed value, the index up to which its operands are unchanged; −1 for others. */
  readonly #until: Float64Array;
  readonly #brief: ReadonlySet<ValueId>;
  /** Copies in backward of forward's values. */
  readonly #again = new Map<ValueId, ValueId>();
  readonly #result: ProgramOp[] = [];
  #ops = 0;
  #work = 0;
  readonly #madeAgain = new Set<ValueId>();
  readonly #runs: number[] = [];

  constructor(facts: ForwardFacts, stays: ReadonlySet<ValueId>, brief: ReadonlySet<ValueId>) {
    this.#facts = facts;
    this.#brief = brief;
    this.#program = facts.program;
    this.#values = [...facts.program.values];
    this.#until = validity(facts, stays);
  }

  run(most: number): RecomputedUnkept | null {
    for (const [index, op] of this.#program.ops.entries()) {
      if (this.#work > most) return null;
      if (this.#facts.isForward(index)) {
        this.#result.push(op);
        continue;
      }
      const read = this.#facts.readBy(index);
      if (!read.some((id) => this.#isMadeAgain(id, index))) {
        // The op itself: facts cached for it are shared by all programs that contain it.
        this.#result.push(op);
        continue;
      }
      const recomputed = read.flatMap((id) => this.#makeMissing(id, index));
      const inputs = op.inputs.map((id, i) => {
        const isAgain = operandUse(op.op, i) === 'data' && this.#isMadeAgain(id, index);
        return isAgain ? this.#again.get(id)! : id;
      });
      this.#result.push({ ...op, inputs });
      this.#forget(recomputed, read);
    }
    if (this.#work > most) return null;
    const program = { ...this.#program, values: this.#values, ops: this.#result };
    const runs = this.#runs;
    return { program, ops: this.#ops, work: this.#work, again: this.#madeAgain, runs };
  }

  /** Reruns the ops that an operand of a backward op depends on, unless their results are available. */
  #makeMissing(id: ValueId, at: number): readonly ValueId[] {
    return this.#missingFor(id, at).flatMap((index) => {
      const definition = this.#program.ops[index]!;
      this.#make(index, at);
      return definition.outputs;
    });
  }

  /** Later ops recompute brief values again, unless an op reads them directly. */
  #forget(recomputed: readonly ValueId[], read: readonly ValueId[]): void {
    const direct = new Set(read.map((id) => this.#facts.rootOf(id)));
    for (const id of recomputed) {
      const root = this.#facts.rootOf(id);
      if (this.#brief.has(root) && !direct.has(root)) this.#again.delete(id);
    }
  }

  #isMadeAgain(id: ValueId, at: number): boolean {
    if (this.#again.has(id)) return true;
    // A view created in backward reads the recomputed memory through its operand.
    if (!this.#facts.isForward(this.#facts.definitionIndex(id))) return false;
    return at < this.#until[this.#facts.rootOf(id)]!;
  }

  /** The ops that lead to the value and haven't been rerun, in order. */
  #missingFor(id: ValueId, at: number): readonly number[] {
    if (this.#again.has(id) || !this.#isMadeAgain(id, at)) return nothing;
    const found = new Set<number>();
    const pending = [id];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (this.#again.has(next) || !this.#isMadeAgain(next, at)) continue;
      const index = this.#facts.definitionIndex(next);
      if (found.has(index)) continue;
      found.add(index);
      pending.push(...this.#facts.operandsOf(index));
    }
    return [...found].sort((a, b) => a - b);
  }

  #make(index: number, at: number): void {
    const definition = this.#program.ops[index]!;
    const inputs = definition.inputs.map((id, i) => {
      return isComputedFrom(definition, i) && this.#isMadeAgain(id, at) ? this.#again.get(id)! : id;
    });
    const second = this.#presentSecond(index, at);
    const define = (id: ValueId): ValueId => {
      const copy = (this.#values.push(this.#values[id]!) - 1) as ValueId;
      this.#again.set(id, copy);
      this.#madeAgain.add(id);
      return copy;
    };
    const op =
      second === undefined
        ? runAgain(definition, inputs, definition.outputs.map(define))
        : runFromSecond(definition, inputs, second, define(definition.outputs[0]!));
    this.#result.push(op);
    this.#runs.push(at, index);
    if (definition.op.kernel.kind !== 'view') this.#ops++;
    this.#work += opWork(op, this.#values);
  }

  /** Returns the current copy of the second result of an op, if the op's first result can be recomputed from it. */
  #presentSecond(index: number, at: number): ValueId | undefined {
    const second = secondResult(index, this.#facts);
    if (second === undefined || !this.#isMadeAgain(second, at)) return second;
    return this.#again.get(second);
  }
}
