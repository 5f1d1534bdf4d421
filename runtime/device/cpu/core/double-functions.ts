import { math } from '../../../numerics/math.ts';
import type { BinaryFn, DoubleFn, UnaryFn } from '../../../ops/expr/expr.ts';

/**
 * The error function, or its complement, in float64; relative errors are below 1e-14. Self-contained, because other
 * threads receive its text (`threads/worker-functions.ts`).
 *
 * Near 0 it is 2/√π · e^(−x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·…·(2n + 1)), whose terms have the same sign, so that no
 * precision is lost; from 2.5 on the complement is e^(−x²)/√π · 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))),
 * evaluated from its innermost term.
 */
export function errorFunction(x: number, complement: boolean, exp: (x: number) => number): number {
  if (Number.isNaN(x)) return x;
  const magnitude = Math.abs(x);
  if (magnitude < 2.5) {
    if (x === 0) return complement ? 1 : x;
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    const erf = (2 / Math.sqrt(Math.PI)) * exp(-x * x) * sum;
    return complement ? 1 - erf : erf;
  }
  let tail = 0;
  for (let n = 100; n > 0; n--) tail = n / 2 / (magnitude + tail);
  const rest = exp(-magnitude * magnitude) / Math.sqrt(Math.PI) / (magnitude + tail);
  if (!complement) return Math.sign(x) * (1 - rest);
  if (x > 0) return x === Infinity ? 0 : rest;
  return 1 - Math.sign(x) * (1 - rest);
}

export type DoubleFunction =
  | DoubleFn
  | Extract<UnaryFn, 'exp2' | 'log2' | 'sin' | 'cos'>
  | Extract<BinaryFn, 'pow' | 'rem'>;

/** A function of one or two numbers, according to its `length`. */
type NumberFunction = (x: number, y: number) => number;

/** Returns the float64 functions without a WebAssembly instruction, for the current numerics. */
export function doubleFunctions(): { readonly [F in DoubleFunction]: NumberFunction } {
  const { exp } = math;
  return {
    ...math,
    rem: (x, y) => x % y,
    erf: (x) => errorFunction(x, false, exp),
    erfc: (x) => errorFunction(x, true, exp),
  };
}
