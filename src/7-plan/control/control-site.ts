import type { Step } from '../../../runtime/program/plan.ts';
import type { ValueTable } from '../../../runtime/program/program.ts';
import type { Follower } from './follow.ts';
import type { FollowedScope } from './run-memory.ts';

/** One control op of a run that is followed. */
export interface ControlSite {
  readonly follower: Follower;
  readonly step: Step;
  readonly values: ValueTable;
  readonly scope: FollowedScope;
}
