import { TostaticError } from '../../../runtime/errors/errors.ts';

/** Frames outside the user's code: Node, the command itself, and the packages that it calls. */
const foreign =
  /node:|\/node_modules\/(?:commander|tostatic|tsx)\/|\/src\/(?:cli|vm|dispatch)\/|frames? of tostatic/;

/**
 * Returns the text that the command prints for an error. The message of a tostatic error is complete; for an error
 * in the user's module, the user's frames are kept.
 */
export function errorText(error: unknown): string {
  if (error instanceof TostaticError) {
    // The command itself is not user code.
    const message = error.message
      .split('\n')
      .filter((line) => !/^ {2}at: .*\/commander\//.test(line));
    return `${error.name}: ${message.join('\n')}\n`;
  }
  if (!(error instanceof Error)) return `a module threw ${String(error)}\n`;
  const stack = error.stack ?? `${error.name}: ${error.message}`;
  const lines = stack.split('\n').filter((line) => !/^\s+at /.test(line) || !foreign.test(line));
  return `${lines.join('\n').trimEnd()}\n`;
}
