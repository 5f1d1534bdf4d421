/**
 * Identifies this package's own code. When run from sources, it has its own files. Published files are bundles, which
 * users bundle again with their own code; so each file's first and last statements record their position
 * (`globalThis[Symbol.for('tostatic.code')]`, inserted by the build).
 */

import { filePath } from './file-name.ts';
import { originalPlace } from './original-place.ts';
import { type CodePlace, placeInStackLine } from './stack-lines.ts';

/** Parts of the package: the runner of captured code and the tensor library. */
export type OwnPart = 'runner' | 'runtime';

/** The file name prefix of published modules that capture looks into, wherever they are bundled. */
export const publishedScheme = 'tostatic:';

const here = import.meta.url; // webpack would treat it in `new URL` as an asset
/** The folder of the sources, with or without types; null in published files. */
const sourceRoot =
  here && /\/runtime\/errors\/own-code\.[jt]s$/.test(here) ? new URL('../../', here).href : null;

/** The path of the folder with `runtime/` and `src/` when the package runs from sources. */
export const sourceFolder: string | null = sourceRoot && filePath(sourceRoot);

/** Returns the part of the package that a file of the sources, or of a published module, belongs to. */
export function ownPartOfFile(file: string): OwnPart | null {
  if (file.startsWith(publishedScheme)) return partUnder(file.slice(publishedScheme.length));
  const path = filePath(file);
  if (sourceFolder === null || !path.startsWith(sourceFolder)) return null;
  return partUnder(path.slice(sourceFolder.length));
}

function partUnder(path: string): OwnPart | null {
  if (path.startsWith('src/')) return 'runner';
  return path.startsWith('runtime/') ? 'runtime' : null;
}

/**
 * Record of a published file's first or last statement: an error created there. Bundlers may hoist functions out of a
 * wrapper, so the first statement also records the file's first and last functions.
 */
type Edge =
  | readonly [OwnPart, Error, EndFunction, EndFunction, ...EndFunction[]]
  | readonly [null, Error];

/** Returns an error whose stack tells the function's position. */
type EndFunction = () => readonly [Error];

/** The code between both ends of a published file, which may share its current file with other code. */
interface CodeRange {
  readonly part: OwnPart;
  readonly from: CodePlace;
  /** Undefined while the file is running. */
  readonly to: CodePlace | undefined;
}

const edgesKey = Symbol.for('tostatic.code');

/** Whether a script may contain published code, which contains the key of its records. */
export const mayBePublished = (text: string): boolean => text.includes(edgesKey.description!);

let stretches: readonly CodeRange[] = [];
let edgesRead = 0;

/** Rereads the recorded ends only if files were loaded since, because reading stacks is slow. */
function publishedStretches(): readonly CodeRange[] {
  const edges = (globalThis as { [edgesKey]?: readonly Edge[] })[edgesKey];
  if (!edges || edges.length === edgesRead) return stretches;
  edgesRead = edges.length;
  const found: CodeRange[] = [];
  const open: { readonly part: OwnPart; readonly at: Error }[] = []; // files may load others while they run
  const add = (part: OwnPart, first: Error, last: Error | undefined) => {
    const from = placeOf(first);
    if (from) found.push({ part, from, to: last && placeOf(last) });
  };
  for (const edge of edges) {
    if (edge[0] === null) {
      const first = open.pop();
      if (first) add(first.part, first.at, edge[1]);
    } else {
      const [part, at, first, last] = edge;
      open.push({ part, at });
      add(part, first()[0], last()[0]);
    }
  }
  for (const { part, at } of open) add(part, at, undefined);
  stretches = found;
  return stretches;
}

/** Returns where an error was created. */
function placeOf({ stack }: Error): CodePlace | undefined {
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  const place = lines.flatMap((line) => placeInStackLine(line) ?? [])[0];
  return place && { ...place, file: filePath(place.file) }; // source maps name files by paths
}

/** Returns the part of the package that the code at a position belongs to. */
export function ownPartAt(place: CodePlace): OwnPart | null {
  const file = filePath(place.file);
  for (const { part, from, to } of publishedStretches()) {
    if (from.file !== file || isBefore(place, from)) continue;
    if (!to || isBefore(place, to)) return part;
  }
  return ownPartOfFile(place.file);
}

/**
 * Whether a bundle's source map leads from a position into a published file, for bundles that move functions out of the
 * file's stretches. The map names each published file by its first statement.
 */
export function isPublishedOriginal(place: CodePlace, original: string): boolean {
  const [bundle, file] = [filePath(place.file), filePath(original)];
  if (file === bundle) return false; // there is no source map
  return publishedStretches().some(
    ({ from }) => from.file === bundle && filePath(originalPlace(from).file) === file,
  );
}

const isBefore = (a: CodePlace, b: CodePlace): boolean =>
  a.line < b.line || (a.line === b.line && a.column < b.column);
