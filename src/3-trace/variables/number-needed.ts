import { formatPosition } from '../../../runtime/errors/position.ts';
import { type BreakReason, GraphBreak } from '../../traces/graph-break.ts';
import type { DeviceScalar } from './variable.ts';

/** The host can't go on without a number that only a run of the program knows; `use`: what for. */
export function numberNeeded(
  scalar: DeviceScalar,
  use: string,
  reason: BreakReason = 'number-needed',
): GraphBreak {
  return new GraphBreak(reason, `${nameOfNumber(scalar)} ${use}`);
}

/** For a person: what it is, and where it was read of a tensor. */
export function nameOfNumber({ type, at }: DeviceScalar): string {
  const what = type === 'boolean' ? 'a boolean' : 'a number';
  return `${what} of the program${at ? ` (read at ${formatPosition(at)})` : ''}`;
}
