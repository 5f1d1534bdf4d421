import { ArgumentError, DeviceError } from '../errors/errors.ts';
import {
  acosh,
  asinh,
  atanh,
  cosh,
  exp,
  exp2,
  expm1,
  log,
  log1p,
  log2,
  log10,
  pow,
  sinh,
  tanh,
} from './portable-exponentials.ts';
import { acos, asin, atan, atan2, cos, sin, tan } from './portable-trigonometry.ts';

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

const engine: MathFunctions = {
  ...(Object.fromEntries(namesInMath.map((name) => [name, Math[name]])) as Pick<
    typeof Math,
    (typeof namesInMath)[number]
  >),
  exp2: (x) => 2 ** x,
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y),
};

// Listed individually: bundlers would add code for a namespace that is used as an object.
export const portableMath: MathFunctions = {
  ...{ exp, exp2, expm1, log, log2, log10, log1p, pow },
  ...{ sinh, cosh, tanh, asinh, acosh, atanh },
  ...{ sin, cos, tan, asin, acos, atan, atan2 },
};

/** The functions in use. */
export const math: MathFunctions = { ...engine };

let chosen: Numerics = 'default';
let isFixed = false;

export const numerics = (): Numerics => chosen;

/** Called when kernels are generated; numerics can't change afterwards. */
export function fixNumerics(): void {
  isFixed = true;
}

/** Whether kernels have been generated. */
export const kernelsExist = (): boolean => isFixed;

/** Validates a value of the option or environment variable. Throws ArgumentError. */
export function checkedNumerics(value: unknown, what: string): Numerics {
  if (value === 'default' || value === 'portable') return value;
  throw new ArgumentError({
    what: `${what}: no such numerics`,
    given: String(value),
    expected: "'default' or 'portable'",
    remedy: "leave it out, or choose 'portable' for the same bits in every engine",
  });
}

/** Chooses the numerics. Throws DeviceError if kernels have been generated with others. */
export function chooseNumerics(numerics: Numerics): void {
  if (numerics === chosen) return;
  if (isFixed) {
    throw new DeviceError({
      what: `init: numerics can't become '${numerics}'`,
      given: `kernels that have been generated with '${chosen}'`,
      expected: 'a choice before the first op',
      remedy: `call init('cpu', { numerics: '${numerics}' }) first, or set TOSTATIC_NUMERICS=${numerics}`,
    });
  }
  chosen = numerics;
  Object.assign(math, numerics === 'portable' ? portableMath : engine);
}

const fromEnvironment = globalThis.process?.env?.TOSTATIC_NUMERICS;
if (fromEnvironment) chooseNumerics(checkedNumerics(fromEnvironment, 'TOSTATIC_NUMERICS'));
