import {
  compileNumberOf,
  type NumberExprOf,
  type NumberReader,
  numberLeaves,
  printNumberOf,
  type SourceNumber,
} from '../../runtime/entry/number-expr.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { printSource, type Reader, type Source, type SourceNames } from './source.ts';
import { sourceKey } from './source-key.ts';

/** A leaf from which a traced number is computed. */
export type TracedNumber =
  | SourceNumber<Source>
  /** A size of a result of the graph, by its index among the sizes that were read. */
  | { readonly kind: 'size'; readonly index: number; readonly name: string };

/** A JavaScript number as a function of values that a run reads, never as its value at trace time. */
export type NumberExpr = NumberExprOf<TracedNumber>;

/** Compiles an expression once. `sizes`: sizes of results, for the sizes that the program is compiled for. */
export function compileNumber(
  expr: NumberExpr,
  sizes: readonly number[],
  readerOf: (source: Source) => Reader,
): NumberReader<readonly Frame[]> {
  return compileNumberOf(expr, (leaf): NumberReader<readonly Frame[]> => {
    if (leaf.kind === 'source') return readerOf(leaf.source) as NumberReader<readonly Frame[]>;
    const size = sizes[leaf.index]!;
    return () => size;
  });
}

/** A key that is equal for expressions that compute the same from the same sources. */
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
  return printNumberOf(expr, (leaf) =>
    leaf.kind === 'source' ? printSource(leaf.source, names) : `${leaf.name} of a result`,
  );
}

/** The sources that the number is computed from. */
export function* numberSources(expr: NumberExpr): Generator<Source> {
  for (const leaf of numberLeaves(expr)) if (leaf.kind === 'source') yield leaf.source;
}

/** Whether the number depends on sizes of results. */
export function hasResultSize(expr: NumberExpr): boolean {
  for (const { kind } of numberLeaves(expr)) if (kind === 'size') return true;
  return false;
}
