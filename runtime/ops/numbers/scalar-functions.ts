/** JavaScript arithmetic that can be deferred until a program runs: pure functions of numbers, by user-code name. */

type ScalarFunction = (...args: number[]) => number | boolean;

const operators: Readonly<Record<string, ScalarFunction>> = {
  negate: (x) => -x!,
  '~': (x) => ~x!,
  Number: (x) => x!,
  '!': (x) => !x,
  '+': (x, y) => x! + y!,
  '-': (x, y) => x! - y!,
  '*': (x, y) => x! * y!,
  '/': (x, y) => x! / y!,
  '%': (x, y) => x! % y!,
  '**': (x, y) => x! ** y!,
  '<<': (x, y) => x! << y!,
  '>>': (x, y) => x! >> y!,
  '>>>': (x, y) => x! >>> y!,
  '&': (x, y) => x! & y!,
  '|': (x, y) => x! | y!,
  '^': (x, y) => x! ^ y!,
  '<': (x, y) => x! < y!,
  '<=': (x, y) => x! <= y!,
  '>': (x, y) => x! > y!,
  '>=': (x, y) => x! >= y!,
  '===': (x, y) => x === y,
  '!==': (x, y) => x !== y,
  '?:': (test, x, y) => (test ? x! : y!),
};

/** `Math.sqrt` etc., without `Math.random`, which is not a function of its arguments. */
const mathFunctions = Object.getOwnPropertyNames(Math).flatMap((key) => {
  const value: unknown = (Math as unknown as Record<string, unknown>)[key];
  const usable = typeof value === 'function' && key !== 'random' && key !== 'sumPrecise';
  return usable ? [[`Math.${key}`, value as ScalarFunction] as const] : [];
});

const numberTests = (['isFinite', 'isInteger', 'isNaN', 'isSafeInteger'] as const).map(
  (key) => [`Number.${key}`, Number[key] as ScalarFunction] as const,
);

/** Other built-in functions that accept any value, as they treat numbers. */
const conversions: readonly (readonly [string, ScalarFunction])[] = [
  ['parseInt', Number.parseInt as unknown as ScalarFunction],
  ['parseFloat', Number.parseFloat as unknown as ScalarFunction],
  ['isNaN', (x) => Number.isNaN(x)],
  ['isFinite', (x) => Number.isFinite(x)],
  ['Object.is', (x, y) => Object.is(x, y)],
];

export const scalarFunctions: ReadonlyMap<string, ScalarFunction> = new Map([
  ...Object.entries(operators),
  ...mathFunctions,
  ...numberTests,
  ...conversions,
]);

/** The names of native functions, by function. */
export const hostScalarNames: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ...[...mathFunctions, ...numberTests].map(([name, fn]) => [fn, name] as const),
  [Number, 'Number'],
  [Number.parseInt, 'parseInt'],
  [Number.parseFloat, 'parseFloat'],
  // biome-ignore lint/suspicious/noGlobalIsNan: the user's calls are meant.
  [globalThis.isNaN, 'isNaN'],
  // biome-ignore lint/suspicious/noGlobalIsFinite: the user's calls are meant.
  [globalThis.isFinite, 'isFinite'],
  [Object.is, 'Object.is'],
]);

/** Formats a call from printed operands as a user would write it, such as `a + b * c`. */
export function printScalarCall(fn: string, args: readonly string[]): string {
  if (fn === 'Number') return `+${args[0]}`;
  if (fn === 'negate') return `-${args[0]}`;
  if (fn === '!' || fn === '~') return `${fn}${args[0]}`;
  if (fn === '?:') return `(${args[0]} ? ${args[1]} : ${args[2]})`;
  if (Object.hasOwn(operators, fn)) return `(${args.join(` ${fn} `)})`;
  return `${fn}(${args.join(', ')})`;
}
