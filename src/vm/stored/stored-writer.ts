import { printInteger } from './digits.ts';

/**
 * Writes numbers and texts as one text: the length of the numbers, the numbers, and the texts one after another.
 * The numbers start with the number of texts and the length of each; each different text is stored once.
 */
export class StoredWriter {
  #numbers = '';
  readonly #texts = new Map<string, number>();

  integer(value: number): void {
    this.#numbers += printInteger(value);
  }

  signed(value: number): void {
    this.integer(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(value: string): void {
    let index = this.#texts.get(value);
    if (index === undefined) {
      index = this.#texts.size;
      this.#texts.set(value, index);
    }
    this.integer(index);
  }

  optionalText(value: string | undefined): void {
    this.integer(value === undefined ? 0 : 1);
    if (value !== undefined) this.text(value);
  }

  list<T>(items: readonly T[], write: (item: T) => void): void {
    this.integer(items.length);
    items.forEach(write);
  }

  /** Writes numbers that a reader may skip. */
  section(write: () => void): void {
    const before = this.#numbers;
    this.#numbers = '';
    write();
    this.#numbers = before + printInteger(this.#numbers.length) + this.#numbers;
  }

  finish(): string {
    const texts = [...this.#texts.keys()];
    const lengths = [texts.length, ...texts.map((text) => text.length)].map(printInteger).join('');
    const numbers = lengths + this.#numbers;
    return [printInteger(numbers.length), numbers, ...texts].join('');
  }
}
