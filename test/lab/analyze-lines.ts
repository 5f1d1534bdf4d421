import { analyzeLogText, type LogSummary, type LogWindow } from '../../src/lab/allocator-log.ts';

/** Analyzes a log that is given line by line. */
export function analyzeLines(lines: readonly string[], window?: LogWindow): Promise<LogSummary> {
  async function* text() {
    yield lines.join('\n');
  }
  return analyzeLogText(text(), window);
}
