interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** Edits of a text by positions in the original; they must not overlap. Small enough for pages. */
export class TextEdits {
  readonly #text: string;
  readonly #edits: Edit[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  replace(start: number, end: number, by: string): void {
    this.#edits.push({ start, end, by });
  }

  /** Returns the changed text; edits at one position are applied in order. */
  toString(): string {
    let result = '';
    let at = 0;
    for (const { start, end, by } of this.#edits.toSorted((a, b) => a.start - b.start)) {
      result += this.#text.slice(at, start) + by;
      at = end;
    }
    return result + this.#text.slice(at);
  }
}
