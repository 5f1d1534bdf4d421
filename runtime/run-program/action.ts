import type { Plan } from '../program/plan.ts';
import type { ValueTable } from '../program/program.ts';
import type { Slot } from './scope.ts';

/** What runs for one step, over the slots of a scope. */
export type Action = (slots: readonly Slot[]) => void;

export interface Runnable {
  run(slots: readonly Slot[]): void;
}

/** Binds a plan to its device; control ops get it from the executor, to bind their regions. */
export type BindPlan = (plan: Plan, values: ValueTable) => Runnable;
