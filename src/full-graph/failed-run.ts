import { TostaticError } from '../../runtime/errors/errors.ts';
import { foldStack } from '../../runtime/errors/folded-stack.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import type { SourceText } from '../vm/bytecode/code.ts';
import { windowAround } from './source-window.ts';

/**
 * Returns the error that a run of one program throws to the user: the user's lines are added to errors of ops, a user's
 * own error keeps its message, and the stacks of both contain the user's frames. `captured`: positions in captured
 * code, innermost call first.
 */
export function addUserLines(
  error: unknown,
  sources: readonly SourceText[],
  captured: readonly UserPosition[],
): void {
  if (!(error instanceof Error)) return;
  if (error instanceof TostaticError && error.at && !error.message.includes('<--- HERE')) {
    error.message = [error.message, ...windowAround(error.at, sources)].join('\n');
  }
  foldStack(error, captured, `${error.name}: ${error.message}`);
}
