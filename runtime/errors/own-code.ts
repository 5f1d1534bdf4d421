/**
 * Identifies this package's own code. When run from sources, it has its own files. Published files are bundles, which
 * users bundle again with their own code; so each file's first and last statements record their position
 * (`globalThis[Symbol.for('tostatic.code')]`, inserted by the build).
 */

import { filePath } from './file-name.ts';
import { originalPosition } from './original-position.ts';
import { type CodePosition, positionInStackLine } from './stack-lines.ts';

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

/** Returns an error whose stack contains the function's position. */
type EndFunction = () => readonly [Error];

/** The code between both ends of a published file, which may share its current file with other code. */
interface CodeRange {
  readonly part: OwnPart;
  readonly from: CodePosition;
  /** Undefined while the file is running. */
  readonly to: CodePosition | undefined;
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
    const from = positionOf(first);
    if (from) found.push({ part, from, to: last && positionOf(last) });
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
function positionOf({ stack }: Error): CodePosition | undefined {
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  const position = lines.flatMap((line) => positionInStackLine(line) ?? [])[0];
  return position && { ...position, file: filePath(position.file) }; // source maps name files by paths
}

/** Returns the part of the package that the code at a position belongs to. */
export function ownPartAt(position: CodePosition): OwnPart | null {
  const file = filePath(position.file);
  for (const { part, from, to } of publishedStretches()) {
    if (from.file !== file || isBefore(position, from)) continue;
    if (!to || isBefore(position, to)) return part;
  }
  return ownPartOfFile(position.file);
}

/**
 * Whether a bundle's source map leads from a position into a published file, for bundles that move functions out of the
 * file's stretches. The map names each published file by its first statement.
 */
export function isPublishedOriginal(position: CodePosition, original: string): boolean {
  const [bundle, file] = [filePath(position.file), filePath(original)];
  if (file === bundle) return false; // there is no source map
  return publishedStretches().some(
    ({ from }) => from.file === bundle && filePath(originalPosition(from).file) === file,
  );
}

const isBefore = (a: CodePosition, b: CodePosition): boolean =>
  a.line < b.line || (a.line === b.line && a.column < b.column);
