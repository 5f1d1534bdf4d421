import { formatPosition } from '../../../runtime/errors/position.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { DeviceScalar } from './variable.ts';

/** Reports that JavaScript needs a data-dependent number. `use`: what it is needed for. */
export function numberNeeded(scalar: DeviceScalar, use: string): GraphBreak {
  return new GraphBreak('number-needed', `${nameOfNumber(scalar)} ${use}`);
}

/** Describes a number for messages: its kind, and where it was read from a tensor. */
export function nameOfNumber({ type, at }: DeviceScalar): string {
  const what = type === 'boolean' ? 'a data-dependent boolean' : 'a data-dependent number';
  return `${what}${at ? ` (read at ${formatPosition(at)})` : ''}`;
}
