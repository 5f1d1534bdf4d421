import type { Holder } from '../../device/holder.ts';
import type { ValueId } from '../../program/program.ts';
import { Tape } from '../control/tape.ts';
import type { Slot } from '../scope/scope.ts';

/**
 * The values that the branches, loops and calls of a run keep for backward, with their versions at the end of forward.
 * They include results of regions, which the caller may write to.
 */
export class ValuesOnTapes {
  readonly #holders: Holder[] = [];
  readonly #versions: number[] = [];

  constructor(slots: readonly Slot[], saved: readonly ValueId[]) {
    this.#add(slots, saved, false);
  }

  #add(slots: readonly Slot[], saved: readonly ValueId[], isOnTape: boolean): void {
    for (const id of saved) {
      const { holder } = slots[id]!;
      if (holder instanceof Tape) {
        for (let i = 0; i < holder.length; i++) {
          const { region, scope } = holder.at(i);
          this.#add(scope.slots, region.planned.backward!.saved.withData, true);
        }
      } else if (holder && isOnTape) {
        this.#holders.push(holder);
        this.#versions.push(holder.version);
      }
    }
  }

  /** Returns the memory of the values written since forward, including values freed by now. */
  changed(): readonly Holder[] {
    return this.#holders.filter(({ version }, i) => version !== this.#versions[i]);
  }
}
