import type { AnyNode, CallExpression } from 'acorn';
import type { KernelNumber, KernelUnaryFn } from '../../runtime/device/kernel-code.ts';

export const mathConstants: ReadonlyMap<string, number> = new Map(
  (['E', 'LN10', 'LN2', 'LOG10E', 'LOG2E', 'PI', 'SQRT1_2', 'SQRT2'] as const).map((name) => [
    name,
    Math[name],
  ]),
);

const unary: ReadonlySet<string> = new Set<KernelUnaryFn>([
  'abs',
  'acos',
  'acosh',
  'asin',
  'asinh',
  'atan',
  'atanh',
  'ceil',
  'cos',
  'cosh',
  'exp',
  'expm1',
  'floor',
  'log',
  'log10',
  'log1p',
  'log2',
  'round',
  'sign',
  'sin',
  'sinh',
  'sqrt',
  'tan',
  'tanh',
  'trunc',
]);

const binary: ReadonlySet<string> = new Set(['atan2', 'pow']);

const known = [...unary, ...binary, 'fround', 'max', 'min'].sort();

interface Refused {
  readonly refused: string;
  readonly remedy: string;
}

/** Reads a call of a `Math` function, or returns why it isn't one that kernels support. */
export function readMathCall(
  { callee, arguments: args }: CallExpression,
  read: (argument: AnyNode) => KernelNumber,
): KernelNumber | Refused {
  const isMath =
    callee.type === 'MemberExpression' &&
    !callee.computed &&
    callee.object.type === 'Identifier' &&
    callee.object.name === 'Math' &&
    callee.property.type === 'Identifier';
  const remedy = `functions are those of Math: ${known.join(', ')}`;
  if (!isMath) return { refused: 'a call of', remedy };
  const { name } = callee.property as { readonly name: string };
  const count = binary.has(name) ? 2 : 1;
  const isVariadic = name === 'max' || name === 'min';
  if (!known.includes(name)) return { refused: 'a call of', remedy };
  if (isVariadic ? args.length === 0 : args.length !== count) {
    const expected = isVariadic ? 'at least 1' : `${count}`;
    return { refused: `${args.length} arguments for`, remedy: `give it ${expected}` };
  }
  const [x, ...rest] = args.map(read) as [KernelNumber, ...KernelNumber[]];
  if (name === 'fround') return x;
  if (name === 'pow' || name === 'atan2') return { kind: 'binary', fn: name, x, y: rest[0]! };
  if (name === 'max' || name === 'min') {
    return rest.reduce<KernelNumber>((left, y) => ({ kind: 'binary', fn: name, x: left, y }), x);
  }
  return { kind: 'unary', fn: name as KernelUnaryFn, x };
}
