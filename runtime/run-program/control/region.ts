import type { Holder } from '../../device/holder.ts';
import type { ListItem } from '../../device/tensor-list.ts';
import type { PlannedSubgraph } from '../../program/plan.ts';
import type { BindPlan, Runnable } from '../scope/action.ts';
import { nameValue } from '../scope/name.ts';
import { type Scope, ScopePool, type Slot } from '../scope/scope.ts';

/** A planned region and its scopes, which the backward op shares. */
export class RegionRun {
  readonly planned: PlannedSubgraph;
  readonly #scopes: ScopePool;
  readonly #forward: Runnable;
  readonly bind: BindPlan;
  readonly #enters: readonly boolean[];

  constructor(planned: PlannedSubgraph, bind: BindPlan) {
    this.planned = planned;
    this.#scopes = new ScopePool(planned.values.length);
    this.bind = bind;
    this.#forward = bind(planned.forward, planned.values);
    const unused = new Set(planned.forward.unusedInputs);
    this.#enters = planned.forward.inputs.map((id) => !unused.has(id));
  }

  /** Takes a scope with the JavaScript numbers of the surrounding program. */
  take(scalars: Float64Array): Scope {
    const scope = this.#scopes.take();
    scope.scalars = scalars;
    return scope;
  }

  release(scope: Scope): void {
    this.#scopes.release(scope);
  }

  /** Puts operand `index` into the scope, with a new reference to its holder. */
  share(scope: Scope, index: number, from: Slot): void {
    const { holder, offset, identity } = from;
    const to = this.#named(scope, index, from);
    if (this.#enters[index]) to.put(holder!.retain(), offset, identity, to.name);
  }

  /** Moves an operand into the scope, with the slot's reference. */
  move(scope: Scope, index: number, from: Slot): void {
    const { holder, offset, identity } = from;
    const to = this.#named(scope, index, from);
    if (this.#enters[index]) {
      to.put(holder!, offset, identity, to.name);
      from.holder = null;
    } else {
      from.release();
    }
  }

  /** Returns the slot of an operand with its name, which backward compares even if the region reads no element. */
  #named({ slots }: Scope, index: number, from: Slot): Slot {
    nameValue(from);
    const slot = slots[this.planned.forward.inputs[index]!]!;
    slot.name = from.name;
    return slot;
  }

  /** Puts a holder into the scope, taking over one reference. */
  own({ slots }: Scope, index: number, { holder, offset, identity }: ListItem): void {
    if (this.#enters[index])
      slots[this.planned.forward.inputs[index]!]!.put(holder, offset, identity);
    else holder.release();
  }

  forward(scope: Scope): void {
    this.#forward.run(scope);
  }

  /** Puts result `index` of the run into an outer slot. */
  result({ slots }: Scope, index: number, to: Slot): void {
    const from = slots[this.planned.forward.outputs[index]!]!;
    nameValue(from);
    to.put((from.holder as Holder).retain(), from.offset, from.identity, from.name);
  }

  /** Frees all values except those that backward reads. */
  endForward({ slots }: Scope): void {
    for (const id of this.planned.forward.freesAtEnd) slots[id]!.release();
  }
}

const runs = new WeakMap<PlannedSubgraph, RegionRun>();

/** Returns the one RegionRun of a planned region, so that the forward op and its backward op share scopes. */
export function regionRun(planned: PlannedSubgraph, bind: BindPlan): RegionRun {
  const existing = runs.get(planned);
  if (existing) return existing;
  const run = new RegionRun(planned, bind);
  runs.set(planned, run);
  return run;
}
