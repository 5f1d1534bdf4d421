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
 * The arithmetic that kernels use: the engine's `Math` and fused multiply-add where it is faster, or functions with the
 * same bits in every engine.
 */
export type Numerics = 'default' | 'portable';

type Unary = (x: number) => number;
type Binary = (x: number, y: number) => number;

/** Functions of float64 that IEEE 754 doesn't define to the bit. */
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
  /** 1 to any power is 1, and so is −1 to an infinite one, as in C. */
  pow: Binary;
}

const engine: MathFunctions = {
  ...{ exp: Math.exp, expm1: Math.expm1, exp2: (x) => 2 ** x },
  ...{ log: Math.log, log2: Math.log2, log10: Math.log10, log1p: Math.log1p },
  ...{ sin: Math.sin, cos: Math.cos, tan: Math.tan, atan2: Math.atan2 },
  ...{ asin: Math.asin, acos: Math.acos, atan: Math.atan },
  ...{ sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh },
  ...{ asinh: Math.asinh, acosh: Math.acosh, atanh: Math.atanh },
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y),
};

// Named one by one: of a namespace as an object bundlers keep what makes such objects.
export const portableMath: MathFunctions = {
  ...{ exp, exp2, expm1, log, log2, log10, log1p, pow },
  ...{ sinh, cosh, tanh, asinh, acosh, atanh },
  ...{ sin, cos, tan, asin, acos, atan, atan2 },
};

/** The functions in force. */
export const math: MathFunctions = { ...engine };

let chosen: Numerics = 'default';
let isFixed = false;

export const numerics = (): Numerics => chosen;

/** Called by what generates kernels: from now on, all of them compute the same. */
export function fixNumerics(): void {
  isFixed = true;
}

/** Whether kernels have been generated. */
export const kernelsExist = (): boolean => isFixed;

/** A value of the option or the environment variable. Throws ArgumentError. */
export function checkedNumerics(given: unknown, what: string): Numerics {
  if (given === 'default' || given === 'portable') return given;
  throw new ArgumentError({
    what: `${what}: no such numerics`,
    given: String(given),
    expected: "'default' or 'portable'",
    remedy: "leave it out, or choose 'portable' for the same bits in every engine",
  });
}

/** Throws DeviceError once kernels have been generated with others. */
export function chooseNumerics(wanted: Numerics): void {
  if (wanted === chosen) return;
  if (isFixed) {
    throw new DeviceError({
      what: `init: numerics can't become '${wanted}'`,
      given: `kernels that have been generated with '${chosen}'`,
      expected: 'a choice before the first op',
      remedy: `call init('cpu', { numerics: '${wanted}' }) first, or set TOSTATIC_NUMERICS=${wanted}`,
    });
  }
  chosen = wanted;
  Object.assign(math, wanted === 'portable' ? portableMath : engine);
}

const fromEnvironment = globalThis.process?.env?.TOSTATIC_NUMERICS;
if (fromEnvironment) chooseNumerics(checkedNumerics(fromEnvironment, 'TOSTATIC_NUMERICS'));
