/**
 * Whole numbers as text, in the 87 printable ASCII characters that need no escape in any kind of string literal.
 * 58 of them end a number, so that most numbers are one character; the others continue it.
 */
const characters: string = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
  .filter((each) => !'"\'`\\$<&>'.includes(each))
  .join('');

const last = 58;
const more: number = characters.length - last;

export function printInteger(value: number): string {
  if (value < last) return characters[value]!;
  const rest = value - last;
  return characters[last + (rest % more)]! + printInteger(Math.floor(rest / more));
}

const values: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, characters.indexOf(String.fromCharCode(code))),
);

/** Reads numbers from a position in a text on. */
export class IntegerReader {
  constructor(
    protected readonly text: string,
    protected at: number,
  ) {}

  integer(): number {
    const digit = values[this.text.charCodeAt(this.at++)]!;
    return digit < last ? digit : digit + more * this.integer();
  }
}
