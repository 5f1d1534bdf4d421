import { logLevel } from '../options/environment.ts';

/** Levels of `TOSTATIC_LOG`; each shows those before it, too. */
const logLevels = { graphs: 1, cache: 2, trace: 3, programs: 4 } as const;
export type LogLevel = keyof typeof logLevels;

let write = (text: string): void => console.error(text);

/** Sends the log somewhere else; returns what puts it back. */
export function captureLog(to: (text: string) => void): () => void {
  const before = write;
  write = to;
  return () => {
    write = before;
  };
}

export function isLogged(level: LogLevel): boolean {
  return logLevel() >= logLevels[level];
}

/** The text is made only for a listener. */
export function log(level: LogLevel, text: () => string): void {
  if (isLogged(level)) write(`tostatic: ${text().trimEnd()}`);
}
