/**
 * The scalar function of a pointwise op as data: the source of CPU kernels, GPU kernels and fused kernels. Arithmetic
 * is float32, or float64 if an operand is float64 (int32 for int32 operands of + - * and comparisons). Every node
 * rounds separately, so fusion doesn't change a bit.
 */
export type Expr =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'const'; readonly value: number }
  /** A number from the op's attributes. */
  | { readonly kind: 'attr'; readonly name: string }
  | { readonly kind: 'unary'; readonly fn: UnaryFn; readonly x: Expr }
  | { readonly kind: 'binary'; readonly fn: BinaryFn; readonly x: Expr; readonly y: Expr }
  /** 1 or 0. */
  | { readonly kind: 'compare'; readonly fn: CompareFn; readonly x: Expr; readonly y: Expr }
  /** `test` is a comparison or a bool operand; nonzero selects `then`. */
  | { readonly kind: 'select'; readonly test: Expr; readonly then: Expr; readonly otherwise: Expr }
  /** `double` if an operand or the result is float64, else `single`: a polynomial has one precision. */
  | { readonly kind: 'precision'; readonly single: Expr; readonly double: Expr }
  /** A function computed by JavaScript, in float64 only. */
  | { readonly kind: 'double'; readonly fn: DoubleFn; readonly operands: readonly Expr[] };

export type UnaryFn =
  | 'neg'
  | 'abs'
  | 'exp'
  | 'exp2'
  | 'log'
  | 'log2'
  | 'sqrt'
  | 'tanh'
  | 'sin'
  | 'cos'
  | 'floor'
  | 'ceil'
  | 'trunc'
  /** Rounds half to even. */
  | 'round'
  | 'toInt';
export type BinaryFn =
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'max'
  | 'min'
  /** 1 to any power, and ±1 to an infinite power, are 1, as in C. int32 powers wrap around. */
  | 'pow'
  /** The remainder with the sign of `x`; int32 by 0 gives 0. */
  | 'rem'
  /** int32 division rounded toward zero; 0 if the divisor is 0. */
  | 'quotient';
/** Functions that aren't primitives; `expr-functions.ts` defines them in float32. */
export type DoubleFn =
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'
  | 'atan2'
  | 'sinh'
  | 'cosh'
  | 'asinh'
  | 'acosh'
  | 'atanh'
  | 'expm1'
  | 'log1p'
  | 'log10'
  | 'erf'
  | 'erfc';
export type CompareFn = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

const unary =
  (fn: UnaryFn) =>
  (x: Expr): Expr => ({ kind: 'unary', fn, x });
const binary =
  (fn: BinaryFn) =>
  (x: Expr, y: Expr): Expr => ({ kind: 'binary', fn, x, y });
const compare =
  (fn: CompareFn) =>
  (x: Expr, y: Expr): Expr => ({ kind: 'compare', fn, x, y });

const builders = <F extends string, B>(fns: readonly F[], builder: (fn: F) => B) =>
  Object.fromEntries(fns.map((fn) => [fn, builder(fn)])) as Readonly<Record<F, B>>;

/** Builders for op records: `E.mul(x, E.const(2))`. */
export const E = {
  input: (index: number): Expr => ({ kind: 'input', index }),
  const: (value: number): Expr => ({ kind: 'const', value }),
  attr: (name: string): Expr => ({ kind: 'attr', name }),
  select: (test: Expr, then: Expr, otherwise: Expr): Expr => ({
    kind: 'select',
    test,
    then,
    otherwise,
  }),
  precision: (single: Expr, double: Expr): Expr => ({ kind: 'precision', single, double }),
  double: (fn: DoubleFn, ...operands: readonly Expr[]): Expr => ({ kind: 'double', fn, operands }),
  ...builders(['neg', 'abs', 'exp', 'log', 'sqrt', 'tanh', 'exp2', 'log2', 'sin', 'cos'], unary),
  ...builders(['floor', 'ceil', 'trunc', 'round', 'toInt'], unary),
  ...builders(['add', 'sub', 'mul', 'div', 'max', 'min', 'pow', 'rem', 'quotient'], binary),
  ...builders(['eq', 'ne', 'lt', 'le', 'gt', 'ge'], compare),
} as const;

/** The builders that functions are composed of. */
export const { const: c, mul, add, sub, div, select, lt, gt, neg, abs } = E;
