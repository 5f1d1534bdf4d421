import { ArgumentError, DeviceError } from '../errors/errors.ts';
import {
  engineMath,
  kernelsExist,
  type MathFunctions,
  type Numerics,
  numerics as numericsInUse,
  setNumerics,
} from './math.ts';
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

// Listed individually: bundlers would add code for a namespace that is used as an object.
export const portableMath: MathFunctions = {
  ...{ exp, exp2, expm1, log, log2, log10, log1p, pow },
  ...{ sinh, cosh, tanh, asinh, acosh, atanh },
  ...{ sin, cos, tan, asin, acos, atan, atan2 },
};

/**
 * Chooses the numerics that a user gave as `what`. Throws ArgumentError if there are no such numerics, DeviceError if
 * kernels have been generated with others.
 */
export function chooseNumerics(numerics: unknown, what: string): void {
  if (!isNumerics(numerics)) {
    throw new ArgumentError({
      what: `${what}: no such numerics`,
      given: String(numerics),
      expected: "'default' or 'portable'",
      remedy: "leave it out, or choose 'portable' for the same bits in every engine",
    });
  }
  if (numerics === numericsInUse()) return;
  if (kernelsExist()) {
    throw new DeviceError({
      what: `${what}: numerics can't become '${numerics}'`,
      given: `kernels that have been generated with '${numericsInUse()}'`,
      expected: 'a choice before the first op',
      remedy: `call init('cpu', { numerics: '${numerics}' }) first, or set TOSTATIC_NUMERICS=${numerics} in Node`,
    });
  }
  setNumerics(numerics, numerics === 'portable' ? portableMath : engineMath);
}

const isNumerics = (value: unknown): value is Numerics =>
  value === 'default' || value === 'portable';
