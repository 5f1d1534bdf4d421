/**
 * Identifies this package's own code. Run from its sources, the package has files of its own. The published files are
 * bundled, and users bundle them again with their own code: there each file says at its first and last statement where
 * it is (`globalThis[Symbol.for('tostatic.code')]`, put in by the build).
 */

import { type CodePlace, placeInStackLine } from './stack-lines.ts';

/** Parts of the package: the runner of captured code, and the tensor library. */
export type OwnPart = 'runner' | 'runtime';

/** Published modules that captures look into name their files so, wherever they were bundled to. */
export const publishedScheme = 'tostatic:';

const here = import.meta.url; // webpack takes `new URL` with it for the name of an asset
/** Folder of the sources, with their types or without; null in published files. */
const sourceRoot =
  here && /\/runtime\/errors\/own-code\.[jt]s$/.test(here)
    ? new URL('../../', here).pathname
    : null;

/** Path of the folder that holds `runtime/` and `src/` when the package runs from its sources. */
export const sourceFolder: string | null = sourceRoot && decodeURIComponent(sourceRoot);

/** The part of the package that a file of sources, or of published modules, belongs to. */
export function ownPartOfFile(file: string): OwnPart | null {
  if (file.startsWith(publishedScheme)) return partUnder(file.slice(publishedScheme.length));
  const path = withoutProtocol(file);
  if (sourceFolder === null || !path.startsWith(sourceFolder)) return null;
  return partUnder(path.slice(sourceFolder.length));
}

/** Whether a source map leads into a published file: for bundles that take its functions out of their place. */
export const isPublishedFile = (file: string): boolean => file.includes('/tostatic/dist/');

function partUnder(path: string): OwnPart | null {
  if (path.startsWith('src/')) return 'runner';
  return path.startsWith('runtime/') ? 'runtime' : null;
}

const withoutProtocol = (file: string): string =>
  file.startsWith('file://') ? decodeURIComponent(file.slice('file://'.length)) : file;

/**
 * The edges of a published file: its first function and statement, or its last ones (`part` is null). Bundlers
 * may take functions out of what they wrap, so these have edges of their own.
 */
interface Edge {
  readonly part: OwnPart | null;
  /** Made in the function, which the statement calls. */
  readonly at: Error;
}

/** The code between two edges of one published file, which may share its present file with other code. */
interface Stretch {
  readonly part: OwnPart;
  readonly from: CodePlace;
  /** Undefined while the file runs. */
  readonly to: CodePlace | undefined;
}

const edgesKey = Symbol.for('tostatic.code');

let stretches: readonly Stretch[] = [];
let edgesRead = 0;

/** Reads the edges again when files were loaded since: stacks are text that costs time to make. */
function publishedStretches(): readonly Stretch[] {
  const edges = (globalThis as { [edgesKey]?: readonly Edge[] })[edgesKey];
  if (!edges || edges.length === edgesRead) return stretches;
  edgesRead = edges.length;
  const found: Stretch[] = [];
  const open: { readonly part: OwnPart; readonly at: Error }[] = []; // files may load others while they run
  const add = (part: OwnPart, first: Error, last: Error | undefined) => {
    const ends = last && functionAndStatement(last);
    functionAndStatement(first).forEach((from, i) => {
      found.push({ part, from, to: ends?.[i] });
    });
  };
  for (const { part, at } of edges) {
    if (part !== null) open.push({ part, at });
    else {
      const first = open.pop();
      if (first) add(first.part, first.at, at);
    }
  }
  for (const { part, at } of open) add(part, at, undefined);
  stretches = found;
  return stretches;
}

/** Where a minifier inlined the function, the second place is the same for both edges: nothing is between. */
function functionAndStatement({ stack }: Error): readonly CodePlace[] {
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  return lines
    .flatMap((line) => placeInStackLine(line) ?? [])
    .slice(0, 2)
    .map((place) => ({ ...place, file: withoutProtocol(place.file) })); // source maps name files by paths
}

/** The part of the package that the code at a place of the running text belongs to. */
export function ownPartAt(place: CodePlace): OwnPart | null {
  const file = withoutProtocol(place.file);
  for (const { part, from, to } of publishedStretches()) {
    if (from.file !== file || isBefore(place, from)) continue;
    if (!to || isBefore(place, to)) return part;
  }
  return ownPartOfFile(place.file);
}

const isBefore = (a: CodePlace, b: CodePlace): boolean =>
  a.line < b.line || (a.line === b.line && a.column < b.column);
