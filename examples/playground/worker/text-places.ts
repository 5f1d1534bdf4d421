/** Positions in the text, and errors at them. */

import { originalPositionFor, type TraceMap } from '@jridgewell/trace-mapping';
import type { Program } from 'acorn';
import { parse } from '../../../src/vm/syntax/parse.ts';

/** An error at a position in the text. */
export class TextError extends Error {
  override readonly name = 'TextError';
  readonly line: number;
  readonly column: number;

  constructor(message: string, { line, column }: Place) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

export type Place = { readonly line: number; readonly column: number };

export function parsed(
  text: string,
  sourceType: 'module' | 'script',
  original: (at: Place) => Place,
): Program {
  try {
    return parse(text, { ecmaVersion: 'latest', sourceType });
  } catch (error) {
    throw syntaxError(error, original);
  }
}

/** Converts errors of acorn and sucrase. Both messages contain `(line:column)`, with columns from 0 and from 1. */
export function syntaxError(error: unknown, original: (at: Place) => Place): unknown {
  if (!(error instanceof Error)) return error;
  const place = (error as { loc?: Place }).loc ?? { line: 1, column: 0 };
  const message = error.message
    .replace(/\s*\(\d+:\d+\)/, '')
    .replace(/^Error transforming [^:]*: /, '');
  return new TextError(message, original({ line: place.line, column: place.column + 1 }));
}

export function placeOf(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

export function offsetOf(text: string, { line, column }: Place): number {
  const lines = text.split('\n').slice(0, line - 1);
  return lines.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
}

export function originalPlace(map: TraceMap, at: Place): Place {
  const { line, column } = originalPositionFor(map, { line: at.line, column: at.column - 1 });
  return line === null ? at : { line, column: column + 1 };
}
