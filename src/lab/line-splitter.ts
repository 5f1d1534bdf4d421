import { DataError } from '../../runtime/errors/errors.ts';

/** In characters. */
export const maxLineLength = 2 ** 20;

/**
 * Splits a text that arrives in chunks into lines, without line breaks. Each character is visited once, even if a line
 * spans many chunks. Throws DataError for a line of more than `maxLineLength` characters.
 */
export class LineSplitter {
  /** The chunks of the incomplete line, joined when it ends. */
  #pieces: string[] = [];
  #length = 0;
  #line = 1;

  *split(piece: string): Generator<string> {
    let start = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      this.#add(piece.slice(start, end));
      start = end + 1;
      yield this.#take();
    }
    this.#add(piece.slice(start));
  }

  /** Returns the last line if the text doesn't end in a line break; null otherwise. */
  end(): string | null {
    return this.#length > 0 ? this.#take() : null;
  }

  #add(part: string): void {
    if (part === '') return;
    this.#pieces.push(part);
    this.#length += part.length;
    if (this.#length > maxLineLength) throw lineTooLong(this.#line);
  }

  #take(): string {
    const line = this.#pieces.length === 1 ? this.#pieces[0]! : this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#line++;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

function lineTooLong(line: number): DataError {
  const limit = new Intl.NumberFormat('en').format(maxLineLength);
  return new DataError({
    what: 'the log has a line that is too long',
    given: `line ${line} with more than ${limit} characters`,
    expected: 'a text of lines, one event in each',
    remedy: 'check that the file is an allocator log in UTF-8, with a line break after each event',
  });
}
