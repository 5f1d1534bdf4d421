import type { NativeRun } from './run-text.ts';

/** One line of output. */
export interface RunResult {
  readonly file: string;
  readonly ok: boolean;
  /** The error that was thrown, as `Name: message`. */
  readonly error: string | null;
  /** The engine itself ran it, since its bytecode is rejected. */
  readonly native?: NativeRun;
}

/** The name and message of whatever was thrown, without trusting it. */
export function describeError(error: unknown): string {
  try {
    if (typeof error !== 'object' || error === null) return `thrown: ${String(error)}`;
    const { name, message } = error as Partial<Error>;
    const made = (error as object).constructor?.name;
    const kind = typeof name === 'string' && name !== '' ? name : (made ?? 'Error');
    return message === undefined ? `${kind}` : `${kind}: ${message}${place(error)}`;
  } catch {
    return 'thrown: a value that cannot be printed';
  }
}

/** A syntax error says where it is. */
function place(error: object): string {
  const { loc, stack } = error as { loc?: { line: number; column: number }; stack?: string };
  if (loc) return '';
  const line = /^(.+:\d+)\n/.exec(stack ?? '');
  return line && (error as Error).name === 'SyntaxError' ? ` (${line[1]})` : '';
}
