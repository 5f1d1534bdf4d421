import type { Plan } from '../../program/plan.ts';
import type { ValueId, ValueTable } from '../../program/program.ts';
import type { Scope, Slot } from './scope.ts';

/** Executes one step on the slots of a scope and the JavaScript numbers of the run. */
export type Action = (slots: readonly Slot[], scalars: Float64Array) => void;

export interface Runnable {
  run(scope: Pick<Scope, 'slots' | 'scalars'>): void;
}

/**
 * Binds a plan to its device; the executor passes it to control ops, which bind their regions with it. `gradients`
 * are inputs that may be missing.
 */
export type BindPlan = (plan: Plan, values: ValueTable, gradients?: readonly ValueId[]) => Runnable;
