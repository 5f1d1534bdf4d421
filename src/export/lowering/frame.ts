import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { TargetValue } from '../target/target.ts';
import type { Slot } from './slots.ts';
import type { TapeLayout } from './tape-layout.ts';

/** The values that a branch or loop saves for its backward. */
export interface Tape<V> {
  readonly layout: TapeLayout;
  /**
   * For a branch: the condition, then the values that either branch saves, zeros for the branch that didn't run. For a
   * loop: the number of iterations, i32 [], then the tables.
   */
  readonly values: readonly V[];
  /** Operands that backward reads, by index. */
  readonly operands: ReadonlyMap<number, V>;
}

/** The values of a program by id, while it is lowered. */
export class Frame<V extends TargetValue> {
  readonly slots = new Map<ValueId, Slot<V>>();
  readonly tapes = new Map<ValueId, Tape<V>>();
  /** Values that are read, including tapes: others are not kept. */
  readonly #read: Set<ValueId>;

  /** `read`: values that are read after the ops of the program. */
  constructor(read: Iterable<ValueId> = []) {
    this.#read = new Set(read);
  }

  /** Called before ops are lowered. */
  prepare(ops: readonly ProgramOp[]): void {
    for (const { inputs } of ops) for (const id of inputs) this.#read.add(id);
  }

  isRead(id: ValueId): boolean {
    return this.#read.has(id);
  }

  slot(id: ValueId): Slot<V> {
    const slot = this.slots.get(id);
    invariant(slot, `value %${id} is written before it is read`);
    return slot;
  }
}
