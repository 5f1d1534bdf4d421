import { DataError } from '../../errors/errors.ts';

/** Returns the error for a malformed file: the location, what was found, and what was expected. */
export function badFile(
  where: string,
  given: string,
  expected: string,
  cause?: unknown,
): DataError {
  return new DataError({
    what: `load: the file is damaged or not a tostatic file, at ${where}`,
    given,
    expected,
    remedy: 'save it again, or get another copy of the file',
    cause,
  });
}

/** The maximum number of arguments of a scalar function: more than real code has, and fewer than a call supports. */
export const maxScalarArguments = 1000;

type Fields<N extends number> = N extends 2
  ? [Field, Field]
  : N extends 3
    ? [Field, Field, Field]
    : N extends 4
      ? [Field, Field, Field, Field]
      : Field[];

/**
 * A part of a parsed header with its path. Every access is validated: a missing value, a wrong type or a number
 * out of range is a DataError.
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

  /** Returns a property of an object, which may be missing. */
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

  /** Returns the items of a list of at most `max`. Fails if it isn't a list, or is longer. */
  items(max = Number.POSITIVE_INFINITY): Field[] {
    if (!Array.isArray(this.value)) this.fail('a list');
    if (this.value.length > max) this.fail(`a list of at most ${max}`);
    return this.value.map((item, i) => new Field(item, `${this.path}[${i}]`));
  }

  /** Returns the items of a list of this length. */
  tuple<N extends number>(length: N): Fields<N> {
    const items = this.items();
    if (items.length !== length) this.fail(`a list of ${length}`);
    return items as Fields<N>;
  }

  /** Reads each item of the list under `key`, which must have `length` items if specified. */
  list<T>(key: string, read: (item: Field) => T, length?: number): T[] {
    const list = this.get(key);
    const items = length === undefined ? list.items() : list.tuple(length);
    return items.map((item) => read(item));
  }

  /** Like `list`; a missing list is empty. */
  optionalList<T>(key: string, read: (item: Field) => T): T[] {
    return this.get(key).isMissing ? [] : this.list(key, read);
  }

  entries(): [key: string, value: Field][] {
    const { value } = this;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.fail('an object');
    return Object.entries(value).map(([key, item]) => [
      key,
      new Field(item, `${this.path}.${key}`),
    ]);
  }

  /** Returns an integer from `min` to `max`, inclusive; by default one that isn't negative. */
  int(min = 0, max: number = Number.MAX_SAFE_INTEGER): number {
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

/** Returns the first 60 characters of the value as JSON, without visiting the rest. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = firstOf(value, 0);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const shownItems = 30;
const shownLevels = 4;

function firstOf(value: unknown, level: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 2 * shownItems));
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value));
  const isList = Array.isArray(value);
  const keys = Object.keys(value);
  const rest = keys.length > shownItems ? ['…'] : [];
  const items = keys.slice(0, level < shownLevels ? shownItems : 0).map((key) => {
    const item = firstOf(Reflect.get(value, key), level + 1);
    return isList ? item : `${JSON.stringify(key)}:${item}`;
  });
  const inside = level < shownLevels || keys.length === 0 ? [...items, ...rest].join() : '…';
  return isList ? `[${inside}]` : `{${inside}}`;
}
