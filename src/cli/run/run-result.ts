import type { NativeRun } from './run-text.ts';

/** One line of output. */
export interface RunResult {
  readonly file: string;
  readonly ok: boolean;
  /** The error that was thrown, as `Name: message`. */
  readonly error: string | null;
  /** Set if the engine itself ran the script, because its bytecode was rejected. */
  readonly native?: NativeRun;
}

/** The name and message of a thrown value, which can't be trusted. */
export function describeError(error: unknown): string {
  try {
    if (typeof error !== 'object' || error === null) return `thrown: ${String(error)}`;
    const { name, message } = error as Partial<Error>;
    const constructorName = (error as object).constructor?.name;
    const kind = typeof name === 'string' && name !== '' ? name : (constructorName ?? 'Error');
    return message === undefined ? `${kind}` : `${kind}: ${message}${place(error)}`;
  } catch {
    return 'thrown: a value that cannot be printed';
  }
}

/** The position of a syntax error. */
function place(error: object): string {
  const { loc, stack } = error as { loc?: { line: number; column: number }; stack?: string };
  if (loc) return '';
  const line = /^(.+:\d+)\n/.exec(stack ?? '');
  return line && (error as Error).name === 'SyntaxError' ? ` (${line[1]})` : '';
}
