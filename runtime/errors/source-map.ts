/** Source maps: from a position in running code to the user's file. */

import { fileUrl } from './file-name.ts';
import type { CodePosition } from './stack-lines.ts';

interface SourceMapJson {
  readonly mappings: string;
  readonly sources: readonly (string | null)[];
  readonly sourcesContent?: readonly (string | null)[];
  readonly sourceRoot?: string;
  /** Indexed maps have `sections` instead; no page bundler writes them. */
  readonly sections?: unknown;
}

export interface SourceMap {
  /** The URLs of the sources, or their names as written if these aren't URLs. */
  readonly files: readonly (string | undefined)[];
  readonly contents: readonly (string | null)[];
  /** Returns the original of a 1-based position; undefined if the map has none. */
  originalOf(line: number, column: number): CodePosition | undefined;
}

/**
 * Reads a source map. `url` is the map's own, to which its sources are relative; '' if they are final. Throws
 * SyntaxError for invalid JSON.
 */
export function readSourceMap(json: string, url: string): SourceMap {
  const { mappings, sources, sourcesContent = [], sourceRoot } = JSON.parse(json) as SourceMapJson;
  if (typeof mappings !== 'string' || !Array.isArray(sources)) {
    return { files: [], contents: [], originalOf: () => undefined };
  }
  const root = sourceRoot && !sourceRoot.endsWith('/') ? `${sourceRoot}/` : (sourceRoot ?? '');
  const files = (sources as (string | null)[]).map((source) =>
    source === null ? undefined : resolved(root + source, url),
  );
  let lines: readonly Segment[][] | undefined;
  return {
    files,
    contents: sourcesContent,
    originalOf(line, column) {
      lines ??= decodeMappings(mappings);
      const segment = lastUntil(lines[line - 1] ?? [], column - 1);
      const file = segment && files[segment[1]];
      return file === undefined
        ? undefined
        : { file, line: segment![2] + 1, column: segment![3] + 1 };
    },
  };
}

/** 0-based: the column in the running code, then the source's index, line and column. */
type Segment = readonly [start: number, source: number, line: number, column: number];

/** Returns the last segment that starts at or before the column. A minified file is one line of thousands. */
function lastUntil(segments: readonly Segment[], column: number): Segment | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments[middle]![0] <= column) low = middle + 1;
    else high = middle;
  }
  return segments[low - 1];
}

function resolved(source: string, base: string): string {
  try {
    // Loaders name files by plain paths: `C:/` isn't a scheme, and a folder may be called `c#`.
    const isPath = base.startsWith('file:') && /^(\w:)?[\\/]/.test(source);
    return base ? new URL(isPath ? fileUrl(source) : source, base).href : source;
  } catch {
    return source;
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const digitOf = new Map([...alphabet].map((letter, digit) => [letter.charCodeAt(0), digit]));

/** Decodes base-64 variable-length quantities; all but the generated columns are relative to the previous segment. */
function decodeMappings(mappings: string): Segment[][] {
  const lines: Segment[][] = [[]];
  // The fields of the current segment: generated column, source, line, column, and perhaps a name.
  const fields = [0, 0, 0, 0, 0];
  let count = 0;
  let value = 0;
  let shift = 0;
  for (const letter of `${mappings};`) {
    const digit = digitOf.get(letter.charCodeAt(0));
    if (digit === undefined) {
      const [start, source, line, column] = fields as [number, number, number, number];
      if (count >= 4) lines.at(-1)!.push([start, source, line, column]);
      else if (count > 0) lines.at(-1)!.push([start, -1, 0, 0]); // code without an original
      count = 0;
      if (letter === ',') continue;
      lines.push([]);
      fields[0] = 0;
      continue;
    }
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    fields[count++]! += value & 1 ? -(value >> 1) : value >> 1;
    value = 0;
    shift = 0;
  }
  for (const segments of lines) segments.sort(([a], [b]) => a - b);
  return lines;
}
