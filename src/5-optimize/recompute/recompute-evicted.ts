import { operandUse } from '../../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../../runtime/device/tensor-meta.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { MemoryUses } from './memory-uses.ts';
import { type EvictionPolicy, Pressure } from './pressure.ts';
import type { Recomputed } from './recompute-in-backward.ts';

/** A program that takes more arithmetic than this many times forward's isn't written to its end. */
const mostWork = 4;

export interface Evicted extends Recomputed {
  /** Bytes of the program in its order, ops one by one. */
  readonly peak: number;
}

/**
 * In: a program, and a limit of its bytes. Out: the same, where values are evicted as the limit asks for, and
 * recomputed before each op of backward that reads one that is not there; null where that takes too much arithmetic.
 * Results are the same to the last bit: the same ops on the same operands, random numbers by their counter.
 */
export function recomputeEvicted(uses: MemoryUses, policy: EvictionPolicy): Evicted | null {
  return new Walk(uses, policy).run();
}

class Walk {
  readonly #uses: MemoryUses;
  readonly #pressure: Pressure;
  readonly #values: TensorMeta[];
  readonly #result: ProgramOp[] = [];
  /** The copy that represents a value after it was recomputed. */
  readonly #now = new Map<ValueId, ValueId>();
  /** Views of what was recomputed, and the values that they were taken of. */
  readonly #views = new Map<ValueId, { readonly of: ValueId; readonly view: ValueId }>();
  readonly #again = new Set<ValueId>();
  #ops = 0;
  #work = 0;

  constructor(uses: MemoryUses, policy: EvictionPolicy) {
    this.#uses = uses;
    this.#pressure = new Pressure(uses, policy);
    this.#values = [...uses.facts.program.values];
  }

  run(): Evicted | null {
    const { facts } = this.#uses;
    const { program } = facts;
    const enough = mostWork * facts.forwardWork;
    for (const [index, op] of program.ops.entries()) {
      if (op.op.kernel.kind === 'view') {
        // Backward takes its views of what was recomputed where it reads them.
        const isLate =
          !facts.isForward(index) && facts.canBeMadeAgain(facts.rootOf(op.outputs[0]!));
        if (!isLate) this.#result.push(op);
        continue;
      }
      this.#pressure.advance();
      this.#recompute(index);
      this.#pressure.run(index, index, () => false);
      this.#pressure.freeDead([...this.#uses.reads[index]!, ...this.#uses.makes[index]!], index);
      const inputs = this.#operandsOf(op);
      const isSame = inputs.every((id, i) => id === op.inputs[i]);
      this.#result.push(isSame ? op : { ...op, inputs });
      if (this.#work > enough) return null;
    }
    return {
      program: { ...program, values: this.#values, ops: this.#result },
      ops: this.#ops,
      work: this.#work,
      again: this.#again,
      peak: this.#pressure.peak,
    };
  }

  /** Runs the ops again that the op's operands need. */
  #recompute(index: number): void {
    const { reads, makes } = this.#uses;
    const missing = this.#pressure.missingFor(reads[index]!);
    if (missing.length === 0) return;
    const lastUse = new Map<ValueId, number>();
    missing.forEach((each, i) => {
      for (const id of reads[each]!) lastUse.set(id, i);
      for (const id of makes[each]!) lastUse.set(id, i);
    });
    for (const id of reads[index]!) lastUse.set(id, missing.length);
    missing.forEach((each, i) => {
      this.#pressure.run(each, index, (id) => (lastUse.get(id) ?? -1) > i);
      this.#write(each);
      const over = [...reads[each]!, ...makes[each]!].filter((id) => lastUse.get(id) === i);
      this.#pressure.freeDead(over, index);
    });
  }

  #write(index: number): void {
    const op = this.#uses.facts.program.ops[index]!;
    const inputs = this.#operandsOf(op);
    const outputs = op.outputs.map((id) => {
      const made = this.#define(id);
      this.#now.set(id, made);
      this.#again.add(id);
      return made;
    });
    this.#result.push({ ...op, inputs, outputs, recordsGrad: false });
    this.#ops++;
    this.#work += this.#uses.work[index]!;
  }

  #define(like: ValueId): ValueId {
    return (this.#values.push(this.#values[like]!) - 1) as ValueId;
  }

  #operandsOf({ op, inputs }: ProgramOp): readonly ValueId[] {
    return inputs.map((id, i) => (operandUse(op, i) === 'data' ? this.#present(id) : id));
  }

  /** Returns what represents the value now; a view is taken again of what was recomputed. */
  #present(id: ValueId): ValueId {
    const { facts } = this.#uses;
    const root = facts.rootOf(id);
    if (root === id) return this.#now.get(id) ?? id;
    const index = facts.definitionIndex(id);
    const isLate = !facts.isForward(index) && facts.canBeMadeAgain(root);
    if (!isLate && !this.#now.has(root)) return id;
    const view = facts.program.ops[index]!;
    const [base, ...rest] = view.inputs as [ValueId, ...ValueId[]];
    const of = this.#present(base);
    const known = this.#views.get(id);
    if (known?.of === of) return known.view;
    const made = this.#define(id);
    this.#views.set(id, { of, view: made });
    this.#result.push({ ...view, inputs: [of, ...rest], outputs: [made], recordsGrad: false });
    return made;
  }
}
