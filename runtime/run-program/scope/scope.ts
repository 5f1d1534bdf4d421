import type { Operand } from '../../device/device.ts';
import type { Holder } from '../../device/holder.ts';
import { InvariantError } from '../../errors/invariant.ts';
import { ownPlace } from './identity.ts';
import { noName } from './name.ts';

/** A value's place in a scope: an owner of its holder while the value is live. */
export class Slot implements Operand {
  holder: Holder | null = null;
  offset = 0;
  /** Tells tensors at one place apart (`identity.ts`). */
  identity = ownPlace;
  /** Tells tensors apart that have gone through branches or loops (`name.ts`); stays when the slot is empty. */
  name = noName;

  /** Takes over one ownership. */
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

/** The variables of one run of a subgraph, one slot per value; forward and backward share it. */
export class Scope {
  readonly slots: readonly Slot[];
  /** JavaScript numbers of this run, for forward and backward. */
  scalars: Float64Array;
  /** Between the start of forward and the end of backward no other run may use it. */
  locked = false;

  constructor(values: number, scalars = 0) {
    this.slots = Array.from({ length: values }, () => new Slot());
    this.scalars = new Float64Array(scalars);
  }

  /** Frees everything still in it, and the scope to its pool. */
  clear(): void {
    for (const slot of this.slots) slot.release();
    this.locked = false;
  }
}

/** The scopes of one subgraph: reused, one more only when all are between forward and backward. */
export class ScopePool {
  readonly #free: Scope[] = [];
  readonly #values: number;
  readonly #scalars: number;
  /** Scopes made so far. */
  made = 0;

  constructor(values: number, scalars = 0) {
    this.#values = values;
    this.#scalars = scalars;
  }

  take(): Scope {
    const scope = this.#free.pop() ?? this.#make();
    if (scope.locked) throw new InvariantError('a locked scope in the pool');
    scope.locked = true;
    return scope;
  }

  /** The scope must be empty, or be emptied here. */
  giveBack(scope: Scope): void {
    if (!scope.locked) return;
    scope.clear();
    this.#free.push(scope);
  }

  #make(): Scope {
    this.made++;
    return new Scope(this.#values, this.#scalars);
  }
}
