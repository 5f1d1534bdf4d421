/** Reads modules as PyTorch prints them: `Conv2d(4, 4, kernel_size=(3, 3), padding=same)`. */

export type PrintedValue = number | boolean | null | string | readonly PrintedValue[];

export interface PrintedModule {
  readonly name: string;
  readonly positional: readonly PrintedValue[];
  /** By names in camel case. */
  readonly options: Readonly<Record<string, PrintedValue>>;
  /** `(linear1): Linear(…)` on lines of their own. */
  readonly children: Readonly<Record<string, PrintedModule>>;
}

export function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_match, first: string) => first.toUpperCase());
}

class Reader {
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  module(): PrintedModule {
    const name = this.#take(/\w+/y);
    this.#take(/\(/y);
    const positional: PrintedValue[] = [];
    const options: Record<string, PrintedValue> = {};
    const children: Record<string, PrintedModule> = {};
    while (!this.#tryTake(/\s*\)/y)) {
      const child = this.#tryTake(/\s*\((\w+)\): /y);
      const key = child ? null : this.#tryTake(/\s*(\w+)=/y);
      if (child) children[camelCase(child)] = this.module();
      else if (key) options[camelCase(key)] = this.#value();
      else positional.push(this.#value());
      this.#tryTake(/,/y);
    }
    return { name, positional, options, children };
  }

  end(): void {
    if (this.#at < this.#text.length) this.#refuse('the end');
  }

  #value(): PrintedValue {
    this.#tryTake(/\s+/y);
    if (this.#tryTake(/\(/y)) {
      const items: PrintedValue[] = [];
      while (!this.#tryTake(/\s*\)/y)) {
        items.push(this.#value());
        this.#tryTake(/,/y);
      }
      return items;
    }
    const quoted = this.#tryTake(/'([^']*)'/y);
    if (quoted !== null) return quoted;
    const word = this.#take(/[^\s,()]+/y);
    if (word === 'None') return null;
    if (word === 'True' || word === 'False') return word === 'True';
    return Number.isNaN(Number(word)) ? word : Number(word);
  }

  #take(pattern: RegExp): string {
    return this.#tryTake(pattern) ?? this.#refuse(String(pattern));
  }

  /** The first group, or else the whole match. */
  #tryTake(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (!found) return null;
    this.#at = pattern.lastIndex;
    return found[1] ?? found[0];
  }

  #refuse(expected: string): never {
    throw new Error(`expected ${expected} at ${this.#at} of ${this.#text}`);
  }
}

export function parsePrinted(text: string): PrintedModule {
  const reader = new Reader(text);
  const module = reader.module();
  reader.end();
  return module;
}
