import { exactText } from '../numerics/exact-text.ts';
import { printScalarCall, scalarFunctions } from '../ops/numbers/scalar-functions.ts';

/**
 * An expression for a JavaScript number. Its leaves say where a call reads the operands: a source in a trace, a
 * location in a saved program, or a size.
 */
export type NumberExprOf<Leaf extends NumberLeaf> =
  | { readonly kind: 'constant'; readonly value: number }
  /** Comparisons and tests return a boolean. */
  | { readonly kind: 'apply'; readonly fn: string; readonly args: readonly NumberExprOf<Leaf>[] }
  | Leaf;

interface NumberLeaf {
  readonly kind: 'source' | 'size';
}

/** A number read from a location. */
export interface SourceNumber<Location> {
  readonly kind: 'source';
  readonly source: Location;
}

export type NumberReader<Values> = (values: Values) => number | boolean;

/** Compiles an expression once; evaluating it allocates nothing unless a call has more than two operands. */
export function compileNumberOf<Leaf extends NumberLeaf, Values>(
  expr: NumberExprOf<Leaf>,
  readerOf: (leaf: Leaf) => NumberReader<Values>,
): NumberReader<Values> {
  if (expr.kind === 'constant') {
    const { value } = expr;
    return () => value;
  }
  if (expr.kind !== 'apply') return readerOf(expr);
  const apply = scalarFunctions.get(expr.fn) as (...args: (number | boolean)[]) => number | boolean;
  const args = expr.args.map((arg) => compileNumberOf(arg, readerOf));
  const [x, y] = args as [NumberReader<Values>, NumberReader<Values>];
  if (args.length === 1) return (values) => apply(x(values));
  if (args.length === 2) return (values) => apply(x(values), y(values));
  return (values) => apply(...args.map((read) => read(values)));
}

/** Returns the expression with its leaves mapped. */
export function mapNumber<From extends NumberLeaf, To extends NumberLeaf>(
  expr: NumberExprOf<From>,
  leafOf: (leaf: From) => NumberExprOf<To>,
): NumberExprOf<To> {
  if (expr.kind === 'constant') return expr;
  if (expr.kind !== 'apply') return leafOf(expr);
  return { ...expr, args: expr.args.map((arg) => mapNumber(arg, leafOf)) };
}

export function* numberLeaves<Leaf extends NumberLeaf>(expr: NumberExprOf<Leaf>): Generator<Leaf> {
  if (expr.kind === 'apply') for (const arg of expr.args) yield* numberLeaves(arg);
  else if (expr.kind !== 'constant') yield expr;
}

/** Prints the expression in JavaScript syntax, without outermost parentheses. */
export function printNumberOf<Leaf extends NumberLeaf>(
  expr: NumberExprOf<Leaf>,
  printLeaf: (leaf: Leaf) => string,
): string {
  const text = print(expr, printLeaf);
  return text.startsWith('(') && text.endsWith(')') ? text.slice(1, -1) : text;
}

function print<Leaf extends NumberLeaf>(
  expr: NumberExprOf<Leaf>,
  printLeaf: (leaf: Leaf) => string,
): string {
  if (expr.kind === 'constant') return exactText(expr.value);
  if (expr.kind !== 'apply') return printLeaf(expr);
  return printScalarCall(
    expr.fn,
    expr.args.map((arg) => print(arg, printLeaf)),
  );
}
