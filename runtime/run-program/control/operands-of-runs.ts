import { invariant } from '../../errors/invariant.ts';
import type { GivenOperand } from '../../program/dynamic-call.ts';
import type { RegionRun } from './region.ts';

const brought = new WeakMap<RegionRun, readonly GivenOperand[]>();

/** Keeps the operands of a run of a call for its backward. */
export function keepOperands(region: RegionRun, operands: readonly GivenOperand[]): void {
  brought.set(region, operands);
}

/** Returns the operands of a run that is on a tape. */
export function operandsOfRun(region: RegionRun): readonly GivenOperand[] {
  const operands = brought.get(region);
  invariant(operands, 'a call that is differentiated was run');
  return operands;
}
