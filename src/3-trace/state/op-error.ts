import { TostaticError } from '../../../runtime/errors/errors.ts';
import { withPositionProvider } from '../../../runtime/errors/position.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { errorPositionIn } from './position.ts';
import type { Tracer } from './tracer.ts';

/** Runs an op's check of its operands. Throws its rejection as eager execution does. */
export function asOp(t: Tracer, check: () => unknown): void {
  try {
    withPositionProvider(() => errorPositionIn(t.frames), check);
  } catch (error) {
    if (!(error instanceof TostaticError)) throw error;
    throw new GraphBreak('op-error', error.message, error);
  }
}
