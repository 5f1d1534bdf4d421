import type { ValueTable } from '../../../runtime/program/program.ts';
import type { Decider } from '../../../runtime/run-program/simulate/decider.ts';
import { SimulatedRun } from '../../../runtime/run-program/simulate/simulated-run.ts';
import {
  copyOfSnapshot,
  memoryKey,
  type Snapshot,
  valuesIn,
} from '../../../runtime/run-program/simulate/snapshot.ts';

/** A simulated run of forward that can be suspended and continued between two steps. */
export class ResumableRun extends SimulatedRun {
  /**
   * `from` is a snapshot in the middle of a run, from which any number of runs can continue; only one if it `isMoved`.
   */
  constructor(values: ValueTable, decider: Decider, from?: Snapshot, isMoved = false) {
    super(values, decider, from?.live);
    if (!from) return;
    const copy = isMoved ? from : this.#copyOf(from);
    for (const holder of copy.callers) this.callers.add(holder);
    for (const { id, name, holder, offset, identity } of copy.values) {
      this.scope.slots[id]!.put(holder, offset, identity, name);
    }
  }

  /** Returns the memory between two steps. */
  snapshot(): Snapshot {
    const { live } = this;
    return this.#copyOf({ values: valuesIn(this.scope), live, callers: this.callers });
  }

  /** Returns the memory between two steps without copying it, which ends the run. */
  moveOut(): Snapshot {
    const values = valuesIn(this.scope);
    for (const slot of this.scope.slots) slot.holder = null;
    this.scopes.release(this.scope);
    return { values, live: this.live, callers: this.callers };
  }

  /** A key for the memory between two steps: equal keys mean that later steps have equal bytes. */
  get memoryKey(): string {
    return memoryKey(this.scope.slots);
  }

  #copyOf(snapshot: Snapshot): Snapshot {
    const { simulation } = this;
    const copy = simulation.within(() => copyOfSnapshot(snapshot));
    // A copy doesn't count as an allocation.
    simulation.live = snapshot.live;
    return copy;
  }
}
