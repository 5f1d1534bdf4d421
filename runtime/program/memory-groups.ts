import { handedOnAs } from './handed-on.ts';
import type { ProgramOp, ValueId } from './program.ts';

type Op = Pick<ProgramOp, 'op' | 'inputs' | 'outputs' | 'regions'>;

/**
 * Values by the memory that they may show: a view and its base, a result of a branch or loop and the operands
 * that it may be. Values of different groups never share memory that the program has made or was given once.
 */
export class MemoryGroups {
  readonly #above = new Map<ValueId, ValueId>();

  constructor(ops: readonly Op[]) {
    for (const op of ops) {
      const { kernel } = op.op;
      if (kernel.kind === 'view') this.#join(op.outputs[0]!, op.inputs[0]!);
      if (kernel.kind !== 'control' || !handsOn.has(kernel.form)) continue;
      op.outputs.forEach((id, result) => {
        for (const from of handedOnAs(op, result)) this.#join(id, from);
      });
    }
  }

  /** The value that stands for the group. */
  of(id: ValueId): ValueId {
    let top = id;
    for (let next = this.#above.get(top); next !== undefined; next = this.#above.get(top)) {
      top = next;
    }
    return top;
  }

  #join(a: ValueId, b: ValueId): void {
    const [from, to] = [this.of(a), this.of(b)];
    if (from !== to) this.#above.set(from, to);
  }
}

/** Forms of control ops whose results a program may write in place. */
export const handsOn: ReadonlySet<string> = new Set(['cond', 'while', 'call']);
