import type { Plan } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import type { Scope, Slot } from './scope.ts';

/** The function that runs for one step, over the slots of a scope and JavaScript numbers of the run. */
export type Action = (slots: readonly Slot[], scalars: Float64Array) => void;

export interface Runnable {
  run(scope: Pick<Scope, 'slots' | 'scalars'>): void;
}

/**
 * Binds a plan to its device; control ops get it from the executor, to bind their regions. `gradients`:
 * inputs that may be missing.
 */
export type BindPlan = (plan: Plan, values: ValueTable, gradients?: readonly ValueId[]) => Runnable;
