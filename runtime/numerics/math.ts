/**
 * The arithmetic of kernels: the engine's `Math`, with fused multiply-add where it is faster, or functions with
 * the same bits in every engine.
 */
export type Numerics = 'default' | 'portable';

type Unary = (x: number) => number;
type Binary = (x: number, y: number) => number;

/** float64 functions that IEEE 754 doesn't define bit by bit. */
export interface MathFunctions {
  exp: Unary;
  exp2: Unary;
  expm1: Unary;
  log: Unary;
  log2: Unary;
  log10: Unary;
  log1p: Unary;
  sin: Unary;
  cos: Unary;
  tan: Unary;
  asin: Unary;
  acos: Unary;
  atan: Unary;
  sinh: Unary;
  cosh: Unary;
  tanh: Unary;
  asinh: Unary;
  acosh: Unary;
  atanh: Unary;
  atan2: Binary;
  /** 1 to any power, and −1 to an infinite power, are 1, as in C. */
  pow: Binary;
}

/** The functions that `Math` has as well. */
export const namesInMath = [
  ...(['exp', 'expm1', 'log', 'log2', 'log10', 'log1p', 'sin', 'cos', 'tan', 'atan2'] as const),
  ...(['asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh'] as const),
];

export const engineMath: MathFunctions = {
  ...(Object.fromEntries(namesInMath.map((name) => [name, Math[name]])) as Pick<
    typeof Math,
    (typeof namesInMath)[number]
  >),
  exp2: (x) => 2 ** x,
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y),
};

/** The functions in use. */
export const math: MathFunctions = { ...engineMath };

let chosen: Numerics = 'default';
let isFixed = false;

export const numerics = (): Numerics => chosen;

/** Called when kernels are generated; numerics can't change afterwards. */
export function fixNumerics(): void {
  isFixed = true;
}

/** Whether kernels have been generated. */
export const kernelsExist = (): boolean => isFixed;

/** Called only by `chooseNumerics`, which loads the portable functions; this module loads none of them. */
export function setNumerics(numerics: Numerics, functions: MathFunctions): void {
  chosen = numerics;
  Object.assign(math, functions);
}
