/** Analyzes allocator logs: our own, and any with lines containing `Alloc N bytes` and `Free N bytes`. */

import { DataError } from '../../runtime/errors/errors.ts';
import { LineSplitter } from './line-splitter.ts';

export interface LogWindow {
  /** The window begins after the first line that contains this text; by default at the start of the log. */
  readonly from?: string | undefined;
  /** The window ends before the next line that contains this text; by default at the end of the log. */
  readonly to?: string | undefined;
}

/** The events between the two marks. Bytes are those given in the lines. */
export interface LogSummary {
  /**
   * Bytes allocated minus bytes freed: what the window left allocated (negative if it freed more than it allocated).
   */
  readonly remainingBytes: number;
  /** The peak of live bytes allocated in the window, relative to its start. */
  readonly maxBytes: number;
  readonly allocatedBytes: number;
  readonly allocations: number;
  readonly freedBytes: number;
  readonly frees: number;
  /** Frees of memory that was not allocated inside the window; `freedBytes` includes them. */
  readonly foreignFrees: number;
  /** Lines that begin like an event but can't be parsed. */
  readonly malformed: number;
  /** The first of them, for inspection. */
  readonly malformedLines: readonly { readonly line: number; readonly text: string }[];
}

// Anywhere in a line: loggers prepend times, threads and files.
const event = /\b(Alloc|Free) (\d+) bytes, ptr = (0x[0-9a-fA-F]+)/;
/** Contained in every line that could be an event: searching for a string is cheaper than matching. */
const eventWords = ['Alloc ', 'Free '];
const beginsLikeEvent = /\b(?:Alloc|Free) \S* ?bytes\b|\b(?:Alloc|Free) \d+/;
const shownMalformed = 5;

/**
 * Reads a log of any length from a text that arrives in chunks, which may end in the middle of a line, and keeps only the
 * live addresses. Throws DataError if a mark is not found, since the figures would belong to another window, and for a
 * line of more than 1,048,576 characters, which would have to be kept in memory; no log contains such a line.
 */
export async function analyzeLogText(
  pieces: AsyncIterable<string>,
  window: LogWindow = {},
): Promise<LogSummary> {
  const analysis = new LogAnalysis(window);
  const lines = new LineSplitter();
  for await (const piece of pieces) {
    for (const line of lines.split(piece)) {
      if (analysis.add(line) === 'after') return analysis.summary();
    }
  }
  const last = lines.end();
  if (last !== null) analysis.add(last);
  return analysis.summary();
}

/** The position in the log relative to the window, and a fold over the events inside. */
class LogAnalysis {
  readonly #window: LogWindow;
  readonly #fold = new LogFold();
  #place: 'before' | 'inside' | 'after';

  constructor(window: LogWindow) {
    this.#window = window;
    this.#place = window.from === undefined ? 'inside' : 'before';
  }

  /** Adds a line, and returns its position; lines after the window don't have to be read. */
  add(line: string): 'before' | 'inside' | 'after' {
    const { from, to } = this.#window;
    this.#fold.line++;
    if (this.#place === 'before') {
      if (holds(line, from!)) this.#place = 'inside';
    } else if (to !== undefined && holds(line, to)) this.#place = 'after';
    else this.#fold.add(line);
    return this.#place;
  }

  summary(): LogSummary {
    const { from, to } = this.#window;
    const { line } = this.#fold;
    if (this.#place === 'before') throw missingMark('--from', from!, line);
    if (this.#place === 'inside' && to !== undefined) throw missingMark('--to', to, line);
    return this.#fold.summary();
  }
}

/** A mark that ends in a number must not match a longer number: CALL_1 doesn't match CALL_12. */
function holds(line: string, mark: string): boolean {
  for (let at = line.indexOf(mark); at >= 0; at = line.indexOf(mark, at + 1)) {
    const end = at + mark.length;
    if (!isDigit(line, end - 1) || !isDigit(line, end)) return true;
  }
  return false;
}

function isDigit(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}

function missingMark(option: string, mark: string, lines: number): DataError {
  return new DataError({
    what: `the mark of ${option} is not in the log`,
    given: `'${mark}', in a log of ${lines} lines`,
    expected: 'a text that some line contains (the line of --to after that of --from)',
    remedy: 'look for the marks with grep, or leave the option out',
  });
}

/** Returns the address as a number if that is exact: a substring would keep the whole text alive. */
function address(hexadecimal: string): number | string {
  const value = Number(hexadecimal);
  return Number.isSafeInteger(value) ? value : hexadecimal;
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
  readonly #pointers = new Set<number | string>();

  add(line: string): void {
    if (!eventWords.some((word) => line.includes(word))) return;
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
    const ptr = address(match[3]!);
    if (match[1] === 'Alloc') this.#alloc(bytes, ptr);
    else this.#free(bytes, ptr);
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

  #alloc(bytes: number, ptr: number | string): void {
    this.#pointers.add(ptr);
    this.#live += bytes;
    this.#max = Math.max(this.#max, this.#live);
    this.#allocatedBytes += bytes;
    this.#allocations++;
  }

  #free(bytes: number, ptr: number | string): void {
    if (!this.#pointers.delete(ptr)) this.#foreignFrees++;
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
