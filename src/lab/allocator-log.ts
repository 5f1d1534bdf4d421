/** Analysis of allocator logs: our own, and any whose lines hold `Alloc N bytes` and `Free N bytes`. */

import { DataError } from '../../runtime/errors/errors.ts';

export interface LogWindow {
  /** The window begins after the first line that contains this; with the log when left out. */
  readonly from?: string | undefined;
  /** It ends before the next line that contains this; with the log when left out. */
  readonly to?: string | undefined;
}

/** What happened between the two marks. Bytes are those that the lines say. */
export interface LogSummary {
  /** Allocated minus freed: what the window left behind (negative when it freed more than it took). */
  readonly remainingBytes: number;
  /** The most that was alive at once of what the window took, relative to its begin. */
  readonly maxBytes: number;
  readonly allocatedBytes: number;
  readonly allocations: number;
  readonly freedBytes: number;
  readonly frees: number;
  /** Frees of memory that was not allocated inside the window; they count in `freedBytes` as well. */
  readonly foreignFrees: number;
  /** Lines that begin like an event and can't be read. */
  readonly malformed: number;
  /** The first of them, to look at. */
  readonly malformedLines: readonly { readonly line: number; readonly text: string }[];
}

// Anywhere in a line: loggers put times, threads and files in front.
const event = /\b(Alloc|Free) (\d+) bytes, ptr = (0x[0-9a-fA-F]+)/;
const beginsLikeEvent = /\b(?:Alloc|Free) \S* ?bytes\b|\b(?:Alloc|Free) \d+/;
const shownMalformed = 5;

/**
 * Reads a log line by line, of any length, keeping only the addresses that are alive. Throws DataError
 * when a mark is not found: the figures would be those of another window.
 */
export async function analyzeLog(
  lines: AsyncIterable<string> | Iterable<string>,
  window: LogWindow = {},
): Promise<LogSummary> {
  const fold = new LogFold();
  let place: 'before' | 'inside' | 'after' = window.from === undefined ? 'inside' : 'before';
  for await (const line of lines) {
    fold.line++;
    if (place === 'before') {
      if (line.includes(window.from!)) place = 'inside';
      continue;
    }
    if (window.to !== undefined && line.includes(window.to)) {
      place = 'after';
      break;
    }
    fold.add(line);
  }
  if (place === 'before') throw missingMark('--from', window.from!, fold.line);
  if (place === 'inside' && window.to !== undefined)
    throw missingMark('--to', window.to, fold.line);
  return fold.summary();
}

function missingMark(option: string, mark: string, lines: number): DataError {
  return new DataError({
    what: `the mark of ${option} is not in the log`,
    given: `'${mark}', in a log of ${lines} lines`,
    expected: 'a text that some line contains (the line of --to after that of --from)',
    remedy: 'look for the marks with grep, or leave the option out',
  });
}

class LogFold {
  line = 0;
  #live = 0;
  #max = 0;
  #allocatedBytes = 0;
  #allocations = 0;
  #freedBytes = 0;
  #frees = 0;
  #foreignFrees = 0;
  #malformed = 0;
  readonly #malformedLines: { line: number; text: string }[] = [];
  readonly #alive = new Set<string>();

  add(line: string): void {
    const match = event.exec(line);
    if (!match) {
      if (beginsLikeEvent.test(line)) this.#addMalformed(line);
      return;
    }
    const bytes = Number(match[2]);
    if (!Number.isSafeInteger(bytes)) {
      this.#addMalformed(line);
      return;
    }
    if (match[1] === 'Alloc') this.#alloc(bytes, match[3]!);
    else this.#free(bytes, match[3]!);
  }

  summary(): LogSummary {
    return {
      remainingBytes: this.#live,
      maxBytes: this.#max,
      allocatedBytes: this.#allocatedBytes,
      allocations: this.#allocations,
      freedBytes: this.#freedBytes,
      frees: this.#frees,
      foreignFrees: this.#foreignFrees,
      malformed: this.#malformed,
      malformedLines: this.#malformedLines,
    };
  }

  #alloc(bytes: number, ptr: string): void {
    this.#alive.add(ptr);
    this.#live += bytes;
    this.#max = Math.max(this.#max, this.#live);
    this.#allocatedBytes += bytes;
    this.#allocations++;
  }

  #free(bytes: number, ptr: string): void {
    if (!this.#alive.delete(ptr)) this.#foreignFrees++;
    this.#live -= bytes;
    this.#freedBytes += bytes;
    this.#frees++;
  }

  #addMalformed(text: string): void {
    this.#malformed++;
    if (this.#malformedLines.length < shownMalformed) {
      this.#malformedLines.push({ line: this.line, text: text.slice(0, 120) });
    }
  }
}
