import type { Device } from '../../device/device.ts';
import { Holder } from '../../device/holder.ts';
import type { Scope } from '../scope/scope.ts';
import type { CarriedElement } from './carried-elements.ts';
import type { RegionRun } from './region.ts';

/** One run of a region; between forward and backward, its scope contains what backward reads. */
interface Recorded {
  readonly region: RegionRun;
  readonly scope: Scope;
  /** Carried values of an iteration that are elements of its lists. */
  readonly elements: readonly CarriedElement[];
}

/**
 * The values that a control op saves for backward: one entry for the branch that ran, or one per iteration. It is the
 * holder of the op's last result, so it has a live range like any other value, but no bytes of its own.
 */
export class Tape extends Holder {
  readonly #entries: Recorded[] = [];

  constructor(device: Device) {
    super(device, 0);
  }

  get length(): number {
    return this.#entries.length;
  }

  /** Whether the op's backward may run again, in a surrounding program. */
  get isShared(): boolean {
    return this.owners > 1;
  }

  push(region: RegionRun, scope: Scope, elements: readonly CarriedElement[] = []): void {
    this.#entries.push({ region, scope, elements });
  }

  at(index: number): Recorded {
    return this.#entries[index]!;
  }

  /** Removes the latest entry; its scope passes to the caller. */
  pop(): Recorded {
    return this.#entries.pop()!;
  }

  protected override freed(): void {
    for (const { region, scope } of this.#entries) region.release(scope);
    this.#entries.length = 0;
    super.freed();
  }
}
