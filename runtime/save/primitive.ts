import type { Field } from './file/field.ts';

export type Primitive = string | number | boolean | null | undefined | bigint;

/** Encodes a primitive as JSON; values that JSON lacks become objects: `{"undefined": true}`, `{"number": "NaN"}`. */
export function encodePrimitive(value: Primitive): unknown {
  if (value === undefined) return { undefined: true };
  if (typeof value === 'bigint') return { bigint: String(value) };
  if (typeof value !== 'number' || (Number.isFinite(value) && !Object.is(value, -0))) return value;
  return { number: Object.is(value, -0) ? '-0' : String(value) };
}

const special = ['NaN', 'Infinity', '-Infinity', '-0'] as const;

export function readPrimitive(field: Field): Primitive {
  const { value } = field;
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
    return value as Primitive;
  }
  if (field.has('undefined')) return undefined;
  if (field.has('number')) return Number(field.get('number').oneOf(special));
  const digits = field.get('bigint').string();
  if (!/^-?\d{1,1000}$/.test(digits)) field.fail('a whole number');
  return BigInt(digits);
}

export function readNumber(field: Field): number {
  const value = readPrimitive(field);
  return typeof value === 'number' ? value : field.fail('a number');
}

export function isPrimitiveValue(value: unknown): value is Primitive {
  return (
    (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') ||
    value === null
  );
}
