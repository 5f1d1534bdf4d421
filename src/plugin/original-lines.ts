import type { Token } from 'acorn';
import { readSourceMap } from '../../runtime/errors/source-map.ts';
import { parse } from '../vm/syntax/parse.ts';
import type { PrintableSourceMap } from './source-map.ts';

/**
 * Returns compiled code with its statements on the lines, and nearly at the columns, of the user's file: for loaders
 * that read no source map, so that stacks name the user's lines. Only the space between tokens changes, where the
 * compiler began a line; it ends statements by semicolons, so the meaning stays.
 */
export function onOriginalLines(code: string, map: PrintableSourceMap): string {
  const tokens: Token[] = [];
  parse(code, {
    sourceType: 'module',
    ecmaVersion: 'latest',
    allowReturnOutsideFunction: true,
    locations: true,
    onToken: tokens,
  });
  const { originalOf } = readSourceMap(map.toString(), '');
  let text = '';
  let [line, column, end] = [1, 1, 0];
  const add = (part: string): void => {
    text += part;
    const rows = part.split('\n');
    line += rows.length - 1;
    column = rows.at(-1)!.length + (rows.length > 1 ? 1 : column);
  };
  for (const { start, end: next, loc } of tokens) {
    const gap = code.slice(end, start);
    if (gap.includes('\n')) {
      const { line: row, column: indent } = loc!.start;
      const from = originalOf(row, indent + 1) ?? { line, column };
      if (from.line > line) add('\n'.repeat(from.line - line));
      add(' '.repeat(Math.max(column > 1 ? 1 : 0, from.line === line ? from.column - column : 0)));
    } else {
      add(gap);
    }
    add(code.slice(start, next));
    end = next;
  }
  return text;
}
