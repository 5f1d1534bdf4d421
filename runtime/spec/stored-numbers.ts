import { DTypeError } from '../errors/errors.ts';
import { isBelow, truncated } from '../ops/numbers/number-arithmetic.ts';
import { isNumber, isSymbolic } from '../ops/numbers/symbolic-number.ts';
import { type DType, dtypes, newTypedArray, type TypedArray, type TypedArrayOf } from './dtype.ts';
import { decodeHalf, encodeHalf, isHalf } from './half.ts';

/** The range of each integer dtype. */
const bounds = { uint8: [0, 255], int32: [-(2 ** 31), 2 ** 31 - 1] } as const;

/**
 * Converts numbers to an array of the dtype: floating-point numbers are rounded, fractions dropped for integers,
 * booleans become 0 or 1. Throws DTypeError for NaN and numbers that an integer dtype can't represent.
 */
export function storedNumbers<D extends DType>(
  values: ArrayLike<number>,
  dtype: D,
  use: string,
): TypedArrayOf<D>;
export function storedNumbers(values: ArrayLike<number>, dtype: DType, use: string): TypedArray {
  if (isHalf(dtype)) return encodeHalf(values, dtype);
  const result = newTypedArray(dtype, values.length);
  if (dtype === 'uint8' || dtype === 'int32') {
    for (let i = 0; i < values.length; i++) result[i] = expectInteger(values[i]!, dtype, use);
  } else if (dtype === 'bool') {
    for (let i = 0; i < values.length; i++) result[i] = values[i] === 0 ? 0 : 1;
  } else {
    result.set(values);
  }
  return result;
}

/** Returns the numbers for a trace, keeping symbolic ones: each run creates an array of the dtype from them. */
export function heldNumbers(values: readonly number[], dtype: DType, use: string): number[] {
  if (isHalf(dtype) || dtype === 'bool') {
    // Storing any other number isn't an arithmetic function, so the program is specialized for its value.
    const store = (value: number) => storedNumbers([Number(value)], dtype, use)[0]!;
    return values.map((value) => {
      const stored = isSymbolic(value) && value.table.mapChoice(value.id, store);
      return (stored as number | undefined) || store(value);
    });
  }
  return values.map((value) => {
    const number = isNumber(value) ? value : Number(value);
    expectHeld(number, dtype, use);
    return dtypes[dtype].floating ? number : truncated(number);
  });
}

/** Returns the number without its fraction. Throws DTypeError if the integer dtype can't represent it. */
function expectInteger(value: number, dtype: 'uint8' | 'int32', use: string): number {
  const whole = Math.trunc(value);
  const [low, high] = bounds[dtype];
  if (whole >= low && whole <= high) return whole;
  throw new DTypeError({
    what: `${use}: a number that ${dtype} does not hold`,
    given: String(value),
    expected: `${low} to ${high}`,
    remedy: "choose a floating-point dtype such as 'float32'",
  });
}

/** Throws DTypeError for a number that an integer dtype can't represent. */
export function expectHeld(value: unknown, dtype: DType, use: string): void {
  if (!isNumber(value) || (dtype !== 'uint8' && dtype !== 'int32')) return;
  if (!isHeld(value, dtype)) expectInteger(+value, dtype, use);
}

/** Whether the integer dtype can represent the number without its fraction. */
export function isHeld(value: number, dtype: 'uint8' | 'int32'): boolean {
  const [low, high] = bounds[dtype];
  return isBelow(low - 1, value) && isBelow(value, high + 1);
}

/** Returns the numbers in an array of the dtype: the array itself, except for half-precision bits. */
export function numbersOf(values: TypedArray, dtype: DType): Exclude<TypedArray, Uint16Array> {
  if (isHalf(dtype)) return decodeHalf(values, dtype);
  return values as Exclude<TypedArray, Uint16Array>;
}

/** The dtypes that a user may name, for error messages. */
export const dtypeNames: string = Object.keys(dtypes).join(', ');
