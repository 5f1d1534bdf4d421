/** Text with numbers in it that a program computes: put together after the run, or when the program writes it. */

const numberMethods = ['toString', 'toFixed', 'toPrecision', 'toExponential'] as const;

/** How a number becomes text; without digits as the method's default. */
export interface NumberFormat {
  readonly method: (typeof numberMethods)[number];
  readonly digits: number | null;
}

/** Methods of text that return text, and don't throw for the arguments that `isTextCall` lets through. */
const textMethods = ['padStart', 'padEnd', 'trim', 'toUpperCase', 'toLowerCase', 'slice'] as const;

export type TextMethod = (typeof textMethods)[number];

/** A piece of text: known, a number or boolean, or what a method makes of other pieces. */
export type TextPart<Value> =
  | string
  | { readonly value: Value; readonly format: NumberFormat }
  | {
      readonly method: TextMethod;
      readonly of: readonly TextPart<Value>[];
      readonly args: readonly (string | number)[];
    };

/** More characters than people pad to. */
const maxWidth = 2 ** 16;

/** The method never throws with these digits, whatever the number is. */
export function isNumberFormat(method: string, digits: unknown): boolean {
  if (!numberMethods.some((each) => each === method)) return false;
  if (digits === null) return true;
  if (typeof digits !== 'number' || !Number.isInteger(digits)) return false;
  if (method === 'toString') return digits >= 2 && digits <= 36;
  return digits >= (method === 'toPrecision' ? 1 : 0) && digits <= 100;
}

export function isTextCall(method: string, args: readonly unknown[]): method is TextMethod {
  if (!textMethods.some((each) => each === method)) return false;
  const isPadding = method.startsWith('pad');
  return args.every((arg, i) => {
    if (isPadding && i === 1) return typeof arg === 'string';
    return typeof arg === 'number' && Math.abs(arg) <= maxWidth;
  });
}

/** The text, with `read` for its numbers. */
export function textWith<Value>(
  parts: readonly TextPart<Value>[],
  read: (value: Value) => number | boolean,
): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      if ('value' in part) return formatted(read(part.value), part.format);
      const text = textWith(part.of, read);
      const call = text[part.method] as (...args: readonly (string | number)[]) => string;
      return call.apply(text, part.args as (string | number)[]);
    })
    .join('');
}

function formatted(value: number | boolean, { method, digits }: NumberFormat): string {
  if (typeof value === 'boolean' || digits === null) return plainly(value, method);
  return value[method](digits);
}

function plainly(value: number | boolean, method: NumberFormat['method']): string {
  return typeof value === 'boolean' || method === 'toString' ? String(value) : value[method]();
}

/** Returns the text with its values mapped. */
export function mapText<From, To>(
  parts: readonly TextPart<From>[],
  map: (value: From) => To,
): TextPart<To>[] {
  return parts.map((part) => {
    if (typeof part === 'string') return part;
    if ('value' in part) return { value: map(part.value), format: part.format };
    return { ...part, of: mapText(part.of, map) };
  });
}

/** Its numbers, in order. */
export function valuesIn<Value>(parts: readonly TextPart<Value>[]): Value[] {
  const found: Value[] = [];
  mapText(parts, (value) => found.push(value));
  return found;
}
