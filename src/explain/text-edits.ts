interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** Changes to a text, by places in the text as it was; they must not overlap. A page needs no more of an editor. */
export class TextEdits {
  readonly #text: string;
  readonly #edits: Edit[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  replace(start: number, end: number, by: string): void {
    this.#edits.push({ start, end, by });
  }

  /** The changed text; of edits at one place the first comes first. */
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
