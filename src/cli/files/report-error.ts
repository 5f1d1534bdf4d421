import { TostaticError } from '../../../runtime/errors/errors.ts';

/** Frames outside of the user's code: Node, the command itself, and what installed packages do below it. */
const foreign =
  /node:|\/node_modules\/(?:commander|tostatic|tsx)\/|\/src\/(?:cli|vm|dispatch)\/|frames? of tostatic/;

/**
 * Returns the text that the command prints for an error. A mistake that tostatic names says everything in its message;
 * of an error in the user's module, the frames of the user stay.
 */
export function errorText(error: unknown): string {
  if (error instanceof TostaticError) {
    // The command itself is not the user's code.
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
