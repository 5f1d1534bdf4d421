import { sameAttrs } from '../../ops/core/prepared-call.ts';
import type { ProgramOp, ValueId } from '../program.ts';
import { writtenOperands } from '../writes.ts';
import type { Fail } from './verify-failure.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Verifies that an op which claims to run again does, as its inputs are not copied: the same op ran before on operands
 * with the same bits, and has rejected none of them. Values are numbered: those of the same op on the same operands have
 * one number, and a write gives all that its memory shows a new one.
 */
export class RunsBefore {
  /** The first value with the bits of another one. */
  readonly #first = new Map<ValueId, ValueId>();
  /** The value for which the memory of a view was made. */
  readonly #memory = new Map<ValueId, ValueId>();
  /** The last write to each memory. */
  readonly #writes = new Map<ValueId, number>();
  /** Ops by kind and operands; those with other attributes side by side. */
  readonly #ops = new Map<string, readonly ProgramOp[]>();
  #count = 0;

  /** Two backwards may go on from one forward. */
  copy(): RunsBefore {
    const copy = new RunsBefore();
    for (const [id, first] of this.#first) copy.#first.set(id, first);
    for (const [id, memory] of this.#memory) copy.#memory.set(id, memory);
    for (const [id, write] of this.#writes) copy.#writes.set(id, write);
    for (const [key, ops] of this.#ops) copy.#ops.set(key, ops);
    copy.#count = this.#count;
    return copy;
  }

  add(op: ProgramOp, fail: Fail): void {
    if (op.parts) {
      for (const part of op.parts) this.add(part, fail);
      return;
    }
    if (op.op.kernel.kind === 'view') {
      this.#memory.set(op.outputs[0]!, this.#memoryOf(op.inputs[0]!));
    }
    const written = writtenOperands(op);
    const isPure = written.length === 0 && !op.op.effect && op.op.kernel.kind !== 'control';
    if (isPure) this.#number(op);
    if (op.again !== undefined) {
      const [result] = op.outputs;
      const first = result === undefined ? undefined : this.#first.get(result);
      if (first === undefined || this.#firstOf(op.again) !== first) {
        fail(`an operator that runs again after %${op.again}`, 'the same one on the same operands');
      }
    }
    for (const i of written) this.#writes.set(this.#memoryOf(op.inputs[i]!), ++this.#count);
  }

  #number(op: ProgramOp): void {
    const isView = op.op.kernel.kind === 'view';
    // A view shows its memory, whatever that holds.
    const operand = (id: ValueId) =>
      isView ? this.#firstOf(id) : `${this.#firstOf(id)}@${this.#writes.get(this.#memoryOf(id))}`;
    const key = `${op.op.name} ${op.inputs.map(operand).join()}`;
    const alike = this.#ops.get(key) ?? [];
    const before = alike.find(({ attrs }) => sameAttrs(attrs, op.attrs, none));
    if (!before) {
      this.#ops.set(key, [...alike, op]);
      return;
    }
    op.outputs.forEach((id, i) => {
      this.#first.set(id, before.outputs[i] ?? id);
    });
  }

  #firstOf(id: ValueId): ValueId {
    return this.#first.get(id) ?? id;
  }

  #memoryOf(id: ValueId): ValueId {
    return this.#memory.get(id) ?? id;
  }
}
