import { logLevel } from '../options/environment.ts';

/** Levels of `TOSTATIC_LOG`; each shows those before it, too. */
const logLevels = { graphs: 1, cache: 2, trace: 3, programs: 4 } as const;
export type LogLevel = keyof typeof logLevels;

export function isLogged(level: LogLevel): boolean {
  return logLevel() >= logLevels[level];
}

/** The text is made only for a listener. */
export function log(level: LogLevel, text: () => string): void {
  if (isLogged(level)) console.error(`tostatic: ${text().trimEnd()}`);
}
