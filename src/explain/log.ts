import { logLevel } from '../options/environment.ts';

/** Levels of `TOSTATIC_LOG`; each includes the lower ones. */
const logLevels = { graphs: 1, cache: 2, trace: 3, programs: 4 } as const;
type LogLevel = keyof typeof logLevels;

export function isLogged(level: LogLevel): boolean {
  return logLevel() >= logLevels[level];
}

/** Logs a message; `text` is called only if the level is enabled. */
export function log(level: LogLevel, text: () => string): void {
  if (isLogged(level)) console.error(`tostatic: ${text().trimEnd()}`);
}
