/** Source maps, as far as errors need them: from a position in running code to the user's file. */

import type { CodePlace } from './stack-lines.ts';

interface SourceMapJson {
  readonly mappings: string;
  readonly sources: readonly (string | null)[];
  readonly sourceRoot?: string;
  /** Maps with several parts have `sections` instead, which no page bundler writes. */
  readonly sections?: unknown;
}

/** Returns the original of a 1-based position; undefined if the map has none. */
export type OriginalPlace = (line: number, column: number) => CodePlace | undefined;

/** Reads a source map. `url` is the map's own; its sources are relative to it. Throws SyntaxError for invalid JSON. */
export function readSourceMap(json: string, url: string): OriginalPlace {
  const { mappings, sources, sourceRoot } = JSON.parse(json) as SourceMapJson;
  if (typeof mappings !== 'string' || !Array.isArray(sources)) return () => undefined;
  const root = sourceRoot && !sourceRoot.endsWith('/') ? `${sourceRoot}/` : (sourceRoot ?? '');
  const files = (sources as (string | null)[]).map((source) =>
    source === null ? undefined : resolved(root + source, url),
  );
  let lines: readonly Segment[][] | undefined;
  return (line, column) => {
    lines ??= decodeMappings(mappings);
    const segment = lines[line - 1]?.findLast(([start]) => start <= column - 1);
    const file = segment && files[segment[1]];
    return file === undefined
      ? undefined
      : { file, line: segment![2] + 1, column: segment![3] + 1 };
  };
}

/** 0-based: the column in the running code, then the source's index, line and column. */
type Segment = readonly [start: number, source: number, line: number, column: number];

function resolved(source: string, base: string): string {
  try {
    return new URL(source, base).href;
  } catch {
    return source;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const digitOf = new Map([...alphabet].map((letter, digit) => [letter.charCodeAt(0), digit]));

/** Decodes base-64 variable-length quantities; all but the generated columns are relative to the previous segment. */
function decodeMappings(mappings: string): Segment[][] {
  let source = 0;
  let line = 0;
  let column = 0;
  return mappings.split(';').map((text) => {
    let start = 0;
    const segments: Segment[] = [];
    for (const part of text === '' ? [] : text.split(',')) {
      const fields = decodeNumbers(part);
      start += fields[0] ?? 0;
      if (fields.length < 4) {
        segments.push([start, -1, 0, 0]); // code that has no original
        continue;
      }
      source += fields[1]!;
      line += fields[2]!;
      column += fields[3]!;
      segments.push([start, source, line, column]);
    }
    return segments.sort(([a], [b]) => a - b);
  });
}

function decodeNumbers(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = digitOf.get(text.charCodeAt(i)) ?? 0;
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}
