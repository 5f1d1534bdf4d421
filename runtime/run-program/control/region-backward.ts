import type { BackwardPart, Plan } from '../../program/plan.ts';
import type { Runnable } from '../action.ts';
import type { Scope, Slot } from '../scope.ts';
import { Zeros } from './gradients.ts';
import type { RegionRun } from './region.ts';

/** The backward program of a region, in one of its two plans. */
export class RegionBackward {
  readonly #region: RegionRun;
  readonly #part: BackwardPart;
  readonly #plan: Plan;
  readonly #executable: Runnable;
  readonly #retains: boolean;
  readonly #moves: (result: number) => boolean;
  /** Per result: whether backward reads its gradient, and zeros for when there is none. */
  readonly #zeros: readonly (Zeros | null)[];
  readonly #saved: ReadonlySet<number>;

  /** `moves`: the gradient given for a result dies at its last use in the run; else somebody else has it, too. */
  constructor(region: RegionRun, retains: boolean, moves: (result: number) => boolean) {
    const { values, backward } = region.planned;
    const part = backward!;
    this.#region = region;
    this.#part = part;
    this.#retains = retains;
    this.#moves = moves;
    this.#plan = retains ? part.retainingPlan : part.plan;
    this.#executable = region.bind(this.#plan, values);
    const unused = new Set(this.#plan.unusedInputs);
    this.#zeros = part.gradOutputs.map((id) =>
      id === null || unused.has(id) ? null : new Zeros(values[id]!),
    );
    this.#saved = new Set(part.saved.withData);
  }

  /**
   * Runs backward in the scope of one forward run. `given` answers the gradient of a result, or null;
   * `take` gets the gradient of each operand that has one. Without `retains` the scope is given back.
   */
  run(
    scope: Scope,
    given: (result: number) => Slot | null,
    take: (operand: number, gradient: Slot) => void,
  ): void {
    const { slots } = scope;
    const { gradOutputs, gradInputs } = this.#part;
    try {
      for (let i = 0; i < gradOutputs.length; i++) {
        const zeros = this.#zeros[i];
        if (!zeros) continue;
        const slot = slots[gradOutputs[i]!]!;
        const gradient = given(i);
        if (!gradient?.holder) zeros.fill(slot);
        else if (!this.#moves(i)) slot.put(gradient.holder.retain(), gradient.offset);
        else {
          slot.put(gradient.holder, gradient.offset);
          gradient.holder = null;
        }
      }
      this.#executable.run(scope);
      for (let i = 0; i < gradInputs.length; i++) {
        const id = gradInputs[i]!;
        if (id !== null) take(i, slots[id]!);
      }
    } catch (error) {
      this.#clear(scope);
      throw error;
    }
    if (!this.#retains) this.#region.giveBack(scope);
    else for (const id of this.#plan.freesAtEnd) slots[id]!.release();
  }

  /** After a failure: what was saved stays for another backward, where there may be one. */
  #clear(scope: Scope): void {
    if (!this.#retains) {
      this.#region.giveBack(scope);
      return;
    }
    scope.slots.forEach((slot, id) => {
      if (!this.#saved.has(id)) slot.release();
    });
  }
}
