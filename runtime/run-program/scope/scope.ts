import type { Operand } from '../../device/device.ts';
import type { Holder } from '../../device/holder.ts';
import { InvariantError } from '../../errors/invariant.ts';
import type { ValueId } from '../../program/program.ts';
import { ownPlace } from './identity.ts';
import { noName } from './name.ts';

/** A value's slot in a scope, which owns a reference to its holder while the value is live. */
export class Slot implements Operand {
  holder: Holder | null = null;
  offset = 0;
  /** Distinguishes tensors at the same location (`identity.ts`). */
  identity = ownPlace;
  /** Distinguishes tensors that have passed through branches or loops (`name.ts`); kept when the slot is emptied. */
  name = noName;

  /** Takes over one reference. */
  put(holder: Holder, offset: number, identity = ownPlace, name = noName): void {
    this.holder = holder;
    this.offset = offset;
    this.identity = identity;
    this.name = name;
  }

  release(): void {
    this.holder?.release();
    this.holder = null;
  }
}

/** The variables of one run of a subgraph, one slot per value; shared by forward and backward. */
export class Scope {
  readonly slots: readonly Slot[];
  /** JavaScript numbers of this run, for forward and backward. */
  scalars: Float64Array;
  /** Whether a run uses it, from the start of forward to the end of backward. */
  locked = false;

  constructor(values: number, scalars = 0) {
    this.slots = Array.from({ length: values }, () => new Slot());
    this.scalars = new Float64Array(scalars);
  }

  /** Frees what is still in the slots of these values. */
  clear(values: readonly ValueId[]): void {
    for (const id of values) this.slots[id]!.release();
    this.locked = false;
  }
}

/** The scopes of one subgraph, reused; a new one is created only if all are between forward and backward. */
export class ScopePool {
  readonly #free: Scope[] = [];
  readonly #all: readonly ValueId[];
  readonly #scalars: number;
  /** The number of scopes created. */
  made = 0;

  constructor(values: number, scalars = 0) {
    this.#all = [...Array(values).keys()] as ValueId[];
    this.#scalars = scalars;
  }

  take(): Scope {
    const scope = this.#free.pop() ?? this.#make();
    if (scope.locked) throw new InvariantError('a locked scope in the pool');
    scope.locked = true;
    return scope;
  }

  /** Returns a scope to the pool; frees whatever is still in it. `used`: the values that its run has put there. */
  release(scope: Scope, used = this.#all): void {
    if (!scope.locked) return;
    scope.clear(used);
    this.#free.push(scope);
  }

  #make(): Scope {
    this.made++;
    return new Scope(this.#all.length, this.#scalars);
  }
}
