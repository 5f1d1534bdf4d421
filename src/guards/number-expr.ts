import { printScalarCall, scalarFunctions } from '../../runtime/ops/numbers/scalar-functions.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import {
  compileReader,
  printSource,
  type Reader,
  type Source,
  type SourceNames,
} from './source.ts';
import { sourceKey } from './source-key.ts';

/** A number of the host as a function of what a run finds: never its value at the time of the trace. */
export type NumberExpr =
  | { readonly kind: 'source'; readonly source: Source }
  | { readonly kind: 'constant'; readonly value: number }
  /** A size of a result of the graph, by its number among those that were asked for. */
  | { readonly kind: 'size'; readonly index: number; readonly name: string }
  /** Comparisons and tests answer a boolean. */
  | { readonly kind: 'apply'; readonly fn: string; readonly args: readonly NumberExpr[] };

/** `sizes` are those of results, for the sizes that the program is made for. */
export type NumberReader = (frames: readonly Frame[], sizes: readonly number[]) => number | boolean;

/** Compiles an expression once; reading it allocates nothing but for calls of more than two operands. */
export function compileNumber(
  expr: NumberExpr,
  readerOf: (source: Source) => Reader = compileReader,
): NumberReader {
  switch (expr.kind) {
    case 'source':
      return readerOf(expr.source) as NumberReader;
    case 'constant': {
      const { value } = expr;
      return () => value;
    }
    case 'size': {
      const { index } = expr;
      return (_frames, sizes) => sizes[index]!;
    }
    case 'apply':
      return compileCall(
        expr.fn,
        expr.args.map((arg) => compileNumber(arg, readerOf)),
      );
  }
}

function compileCall(fn: string, args: readonly NumberReader[]): NumberReader {
  const apply = scalarFunctions.get(fn) as (...args: (number | boolean)[]) => number | boolean;
  const [x, y] = args as readonly [NumberReader, NumberReader];
  if (args.length === 1) return (frames, sizes) => apply(x(frames, sizes));
  if (args.length === 2) return (frames, sizes) => apply(x(frames, sizes), y(frames, sizes));
  return (frames, sizes) => apply(...args.map((read) => read(frames, sizes)));
}

/** Equal for expressions that are computed in the same way from the same places. */
export function numberKey(expr: NumberExpr): string {
  switch (expr.kind) {
    case 'source':
      return sourceKey(expr.source);
    case 'constant':
      return Object.is(expr.value, -0) ? '-0' : String(expr.value);
    case 'size':
      return `size${expr.index}`;
    case 'apply':
      return `${expr.fn}(${expr.args.map(numberKey).join()})`;
  }
}

export function printNumber(expr: NumberExpr, names: SourceNames): string {
  const text = print(expr, names);
  return text.startsWith('(') && text.endsWith(')') ? text.slice(1, -1) : text;
}

function print(expr: NumberExpr, names: SourceNames): string {
  switch (expr.kind) {
    case 'source':
      return printSource(expr.source, names);
    case 'constant':
      return Object.is(expr.value, -0) ? '-0' : String(expr.value);
    case 'size':
      return `${expr.name} of a result`;
    case 'apply':
      return printScalarCall(
        expr.fn,
        expr.args.map((arg) => print(arg, names)),
      );
  }
}

/** The places that the number is computed from. */
export function* numberSources(expr: NumberExpr): Generator<Source> {
  if (expr.kind === 'source') yield expr.source;
  else if (expr.kind === 'apply') for (const arg of expr.args) yield* numberSources(arg);
}

/** Whether the number can only be told once the sizes of results are known. */
export function hasResultSize(expr: NumberExpr): boolean {
  if (expr.kind === 'apply') return expr.args.some(hasResultSize);
  return expr.kind === 'size';
}
