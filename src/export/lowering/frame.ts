import { invariant } from '../../../runtime/errors/invariant.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { Slot } from './slots.ts';
import type { TapeLayout } from './tape-layout.ts';
import type { TargetValue } from './target.ts';

/** The values that a branch or loop has kept for its backward. */
export interface Tape<V> {
  readonly layout: TapeLayout;
  /**
   * A branch: the condition, then what either branch has kept, zeros for the one that didn't run. A loop: how many iterations
   * there were, i32 [], then the tables.
   */
  readonly values: readonly V[];
  /** Operands that backward reads, by their number. */
  readonly operands: ReadonlyMap<number, V>;
}

/** The values of a program by their number, while it is written. */
export class Frame<V extends TargetValue, A> {
  readonly slots = new Map<ValueId, Slot<V, A>>();
  readonly tapes = new Map<ValueId, Tape<V>>();
  /** Values that something reads, tapes among them: those without a reader are not kept. */
  readonly #read: Set<ValueId>;

  /** `read`: values that are read after the ops of the program. */
  constructor(read: Iterable<ValueId> = []) {
    this.#read = new Set(read);
  }

  /** Before ops are written. */
  prepare(ops: readonly ProgramOp[]): void {
    for (const { inputs } of ops) for (const id of inputs) this.#read.add(id);
  }

  isRead(id: ValueId): boolean {
    return this.#read.has(id);
  }

  slot(id: ValueId): Slot<V, A> {
    const slot = this.slots.get(id);
    invariant(slot, `value %${id} is written before it is read`);
    return slot;
  }
}
