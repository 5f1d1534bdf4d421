import { DataError } from '../errors/errors.ts';

/** A file that isn't what it should be: where in it, what stands there, what should. */
export function badFile(where: string, given: string, expected: string): DataError {
  return new DataError({
    what: `load: the file is damaged or not one of tostatic's, at ${where}`,
    given,
    expected,
    remedy: 'save it again, or get another copy of the file',
  });
}

/**
 * A part of a parsed header with its path. Whatever is read through it has been looked at: what is missing,
 * of another type or out of bounds is a DataError.
 */
export class Field {
  readonly value: unknown;
  readonly path: string;

  constructor(value: unknown, path: string) {
    this.value = value;
    this.path = path;
  }

  fail(expected: string): never {
    throw badFile(this.path, describe(this.value), expected);
  }

  /** A property of an object, which may be missing. */
  get(key: string): Field {
    const { value } = this;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.fail('an object');
    const found: unknown = Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
    return new Field(found, `${this.path}.${key}`);
  }

  has(key: string): boolean {
    const { value } = this;
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  }

  get isMissing(): boolean {
    return this.value === undefined;
  }

  get isNull(): boolean {
    return this.value === null;
  }

  items(): Field[] {
    if (!Array.isArray(this.value)) this.fail('a list');
    return this.value.map((item, i) => new Field(item, `${this.path}[${i}]`));
  }

  /** A list of so many. */
  tuple(length: number): Field[] {
    const items = this.items();
    if (items.length !== length) this.fail(`a list of ${length}`);
    return items;
  }

  /** Nothing where the list is missing. */
  optionalItems(): Field[] {
    return this.isMissing ? [] : this.items();
  }

  entries(): [key: string, value: Field][] {
    const { value } = this;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.fail('an object');
    return Object.entries(value).map(([key, item]) => [
      key,
      new Field(item, `${this.path}.${key}`),
    ]);
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    const { value } = this;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    return this.fail(`a whole number from ${min} to ${max}`);
  }

  string(): string {
    return typeof this.value === 'string' ? this.value : this.fail('a text');
  }

  boolean(): boolean {
    return typeof this.value === 'boolean' ? this.value : this.fail('true or false');
  }

  oneOf<T extends string>(known: readonly T[]): T {
    const found = known.find((each) => each === this.value);
    return found ?? this.fail(`one of ${known.join(', ')}`);
  }
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
