import type { BackwardPart, Plan } from '../../program/plan.ts';
import type { Runnable } from '../scope/action.ts';
import type { Scope, Slot } from '../scope/scope.ts';
import type { RegionRun } from './region.ts';

/** The backward program of a region, in one of its two plans. */
export class RegionBackward {
  readonly #region: RegionRun;
  readonly #part: BackwardPart;
  readonly #plan: Plan;
  readonly #bind: () => Runnable;
  #executable: Runnable | null = null;
  readonly #retains: boolean;
  readonly #moves: (result: number) => boolean;
  /** Whether backward reads the gradient of each result. */
  readonly #reads: readonly boolean[];
  readonly #saved: ReadonlySet<number>;

  /**
   * `moves` returns whether the gradient of a result moves into the run and dies at its last use there, or is shared.
   */
  constructor(region: RegionRun, retains: boolean, moves: (result: number) => boolean) {
    const { values, backward } = region.planned;
    const part = backward!;
    this.#region = region;
    this.#part = part;
    this.#retains = retains;
    this.#moves = moves;
    this.#plan = retains ? part.retainingPlan : part.plan;
    const gradients = part.gradOutputs.filter((id) => id !== null);
    this.#bind = () => region.bind(this.#plan, values, gradients);
    const unused = new Set(this.#plan.unusedInputs);
    this.#reads = part.gradOutputs.map((id) => id !== null && !unused.has(id));
    this.#saved = new Set(part.saved.withData);
  }

  /**
   * Runs backward in the scope of one forward run. `gradientOf` returns the gradient of a result; null or an empty slot
   * if it is missing. `take` receives the gradient of each operand that has one, which may be missing for the same
   * reason. Without `retains` the scope is freed.
   */
  run(
    scope: Scope,
    gradientOf: (result: number) => Slot | null,
    take: (operand: number, gradient: Slot) => void,
  ): void {
    const { slots } = scope;
    const { gradOutputs, gradInputs } = this.#part;
    try {
      for (let i = 0; i < gradOutputs.length; i++) {
        const gradient = this.#reads[i] ? gradientOf(i) : null;
        if (!gradient?.holder) continue;
        const slot = slots[gradOutputs[i]!]!;
        if (!this.#moves(i)) slot.put(gradient.holder.retain(), gradient.offset);
        else {
          slot.put(gradient.holder, gradient.offset);
          gradient.holder = null;
        }
      }
      this.#executable ??= this.#bind();
      this.#executable.run(scope);
      for (let i = 0; i < gradInputs.length; i++) {
        const id = gradInputs[i]!;
        if (id !== null) take(i, slots[id]!);
      }
    } catch (error) {
      this.#clear(scope);
      throw error;
    }
    if (!this.#retains) this.#region.release(scope);
    else for (const id of this.#plan.freesAtEnd) slots[id]!.release();
  }

  /** Cleans up after a failure; saved values stay if another backward is possible. */
  #clear(scope: Scope): void {
    if (!this.#retains) {
      this.#region.release(scope);
      return;
    }
    scope.slots.forEach((slot, id) => {
      if (!this.#saved.has(id)) slot.release();
    });
  }
}
