/** Text that contains numbers computed by a program: assembled after the run, or when the program prints it. */

const numberMethods = ['toString', 'toFixed', 'toPrecision', 'toExponential'] as const;

/** How a number is formatted; the method's default without digits. */
export interface NumberFormat {
  readonly method: (typeof numberMethods)[number];
  readonly digits: number | null;
}

/** String methods that return a string and don't throw for the arguments that `isTextCall` accepts. */
const textMethods = ['padStart', 'padEnd', 'trim', 'toUpperCase', 'toLowerCase', 'slice'] as const;

type TextMethod = (typeof textMethods)[number];

/** A part of text: a constant, a number or boolean, or a method's result on other parts. */
export type TextPart<Value> =
  | string
  | { readonly value: Value; readonly format: NumberFormat }
  | {
      readonly method: TextMethod;
      readonly of: readonly TextPart<Value>[];
      readonly args: readonly (string | number)[];
    };

/** A generous limit for padded text. */
const maxWidth = 2 ** 16;

/** Whether the method never throws with these digits, whatever the number. */
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

/** Returns the text, reading its numbers with `read`. */
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

/** Returns the text's values, in order. */
export function valuesIn<Value>(parts: readonly TextPart<Value>[]): Value[] {
  const found: Value[] = [];
  mapText(parts, (value) => found.push(value));
  return found;
}
