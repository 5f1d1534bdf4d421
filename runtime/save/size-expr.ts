import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { Field, maxScalarArguments } from './file/field.ts';
import { encodePrimitive, readNumber } from './primitive.ts';

/** A number as a function of a call's sizes, as encoded in a file. */
export type SizeExpr =
  | number
  /** The size with this index. */
  | { readonly size: number }
  | SizeCall;

interface SizeCall extends ReadonlyArray<string | SizeExpr> {
  readonly 0: string;
}

export function evaluateSize(expr: SizeExpr, sizes: readonly number[]): number {
  if (typeof expr === 'number') return expr;
  if ('size' in expr) return sizes[expr.size]!;
  const args = expr.slice(1).map((arg) => evaluateSize(arg as SizeExpr, sizes));
  return Number(scalarFunctions.get(expr[0])!(...args));
}

/** The key of an expression in a document for many sizes; no attribute has this name. */
const hole = '$size';

/** Encodes an expression as a placeholder for its number. */
export function encodeHole(expr: SizeExpr): unknown {
  return { [hole]: encodeExpr(expr) };
}

function encodeExpr(expr: SizeExpr): unknown {
  if (typeof expr === 'number') return encodePrimitive(expr);
  if ('size' in expr) return expr;
  return [expr[0], ...expr.slice(1).map((arg) => encodeExpr(arg as SizeExpr))];
}

/** Returns the expression of a placeholder in a validated document; undefined for any other value. */
export function holeOf(value: unknown): SizeExpr | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, hole)) return undefined;
  return exprFrom((value as Readonly<Record<string, unknown>>)[hole]);
}

function exprFrom(value: unknown): SizeExpr {
  if (!Array.isArray(value)) return value as SizeExpr;
  const [fn, ...args] = value as [string, ...unknown[]];
  return [fn, ...args.map(exprFrom)];
}

/** Returns the document with placeholders replaced by numbers. Throws DataError for an invalid expression. */
export function withSizes(document: Field, sizes: readonly number[]): Field {
  return new Field(filled(document, sizes), document.path);
}

function filled(field: Field, sizes: readonly number[]): unknown {
  const { value } = field;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return field.items().map((item) => filled(item, sizes));
  if (field.has(hole)) return encodePrimitive(evaluate(field.get(hole), sizes));
  const entries = field.entries().map(([key, item]) => [key, filled(item, sizes)]);
  return Object.fromEntries(entries);
}

function evaluate(field: Field, sizes: readonly number[]): number {
  if (field.has('size')) return sizes[field.get('size').int(0, sizes.length - 1)]!;
  if (!Array.isArray(field.value)) return readNumber(field);
  const [name, ...args] = field.items(maxScalarArguments);
  const fn = name && scalarFunctions.get(name.string());
  if (!fn) return field.fail('a function of numbers');
  return Number(fn(...args.map((arg) => evaluate(arg, sizes))));
}
