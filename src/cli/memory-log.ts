import { createReadStream } from 'node:fs';
import { DataError } from '../../runtime/errors/errors.ts';
import { analyzeLogText, type LogSummary, type LogWindow } from '../lab/allocator-log.ts';

interface MemoryOptions extends LogWindow {
  readonly json?: boolean;
}

/** `tostatic memory`: summarizes an allocator log between two marks. */
export async function memoryLog(file: string, options: MemoryOptions): Promise<void> {
  const summary = await analyzeLogText(textOf(file), options);
  process.stdout.write(options.json ? `${JSON.stringify(summary, null, 2)}\n` : printed(summary));
}

async function* textOf(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  try {
    yield* input.setEncoding('utf8') as AsyncIterable<string>;
  } catch (error) {
    throw new DataError({
      what: 'the log could not be read',
      given: file,
      expected: 'a readable text file',
      remedy: 'check the path and the permissions',
      cause: error,
    });
  } finally {
    input.destroy();
  }
}

const number = new Intl.NumberFormat('en');

function bytes(count: number): string {
  return `${number.format(count)} bytes (${(count / 2 ** 20).toFixed(2)} MiB)`;
}

function printed(summary: LogSummary): string {
  const lines = [
    `remaining  ${bytes(summary.remainingBytes)}`,
    `max        ${bytes(summary.maxBytes)}`,
    `allocated  ${bytes(summary.allocatedBytes)} in ${number.format(summary.allocations)} allocations`,
    `freed      ${bytes(summary.freedBytes)} in ${number.format(summary.frees)} frees`,
  ];
  if (summary.foreignFrees > 0) {
    lines.push(`           ${number.format(summary.foreignFrees)} of them of memory from before`);
  }
  if (summary.allocations + summary.frees + summary.malformed === 0) {
    lines.push(
      'no line is an allocation or a free: `Alloc N bytes, ptr = 0x…`, `Free N bytes, ptr = 0x…`',
    );
  }
  if (summary.malformed > 0) {
    lines.push(`malformed  ${number.format(summary.malformed)} lines, the first:`);
    for (const { line, text } of summary.malformedLines) lines.push(`           ${line}: ${text}`);
  }
  return `${lines.join('\n')}\n`;
}
