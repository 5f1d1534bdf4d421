import { IntegerReader } from './digits.ts';

/** Reads what `StoredWriter` wrote, in the same order. */
export class StoredReader extends IntegerReader {
  private constructor(
    text: string,
    at: number,
    private readonly end: number,
    private readonly texts: readonly string[],
  ) {
    super(text, at);
  }

  static open(stored: string): StoredReader {
    const numbers = new StoredReader(stored, 0, stored.length, []);
    const length = numbers.integer();
    const end = numbers.at + length;
    let last = end;
    const texts = numbers.list(() => {
      const start = last;
      last += numbers.integer();
      return stored.slice(start, last);
    });
    return new StoredReader(stored, numbers.at, end, texts);
  }

  /** True if nothing is left of the section. */
  get isAtEnd(): boolean {
    return this.at === this.end;
  }

  signed(): number {
    const value = this.integer();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  readText(): string {
    return this.texts[this.integer()]!;
  }

  optionalText(): string | undefined {
    return this.integer() === 0 ? undefined : this.readText();
  }

  list<T>(read: (index: number) => T): T[] {
    const count = this.integer();
    const items: T[] = [];
    while (items.length < count) items.push(read(items.length));
    return items;
  }

  /** Skips a section, and returns a reader of it. */
  section(): StoredReader {
    const length = this.integer();
    const start = this.at;
    this.at += length;
    return new StoredReader(this.text, start, this.at, this.texts);
  }
}
