/**
 * Which code is this package's. Run from its sources, the package has files of its own. The published files
 * are bundled, and users bundle them again with their own code: there each file says at its first and last
 * statement where it is (`globalThis[Symbol.for('tostatic.code')]`, put in by the build).
 */

import { type CodePlace, placeInStackLine } from './stack-lines.ts';

/** What traces and executes captured code, or the tensors. */
export type OwnPart = 'runner' | 'runtime';

/** Published modules that captures look into name their files so, wherever they were bundled to. */
export const publishedScheme = 'tostatic:';

const here = import.meta.url; // webpack takes `new URL` with it for the name of an asset
/** Folder of the sources; null in published files. */
const sourceRoot = here?.endsWith('/runtime/errors/own-code.ts')
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

/** The first statement of a published file, or its last one (`part` is null). */
interface Edge {
  readonly part: OwnPart | null;
  /** Made by the statement, so its stack begins there. */
  readonly at: Error;
}

/** The code between the edges of one published file, which may share its present file with other code. */
interface Stretch {
  readonly part: OwnPart;
  readonly file: string;
  readonly from: CodePlace;
  /** Null while the file runs. */
  readonly to: CodePlace | null;
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
  const open: (Stretch | null)[] = []; // a file may load another while it runs
  for (const { part, at } of edges) {
    const place = topPlace(at);
    if (part !== null) open.push(place ? { part, file: place.file, from: place, to: null } : null);
    else {
      const stretch = open.pop();
      if (stretch) found.push({ ...stretch, to: place ?? null });
    }
  }
  stretches = [...found, ...open.filter((stretch) => stretch !== null)];
  return stretches;
}

function topPlace({ stack }: Error): CodePlace | undefined {
  const lines = typeof stack === 'string' ? stack.split('\n') : [];
  return lines.map(placeInStackLine).find((place) => place !== undefined);
}

/** The part of the package that the code at a place of the running text belongs to. */
export function ownPartAt(place: CodePlace): OwnPart | null {
  for (const { part, file, from, to } of publishedStretches()) {
    if (file === place.file && !isBefore(place, from) && (!to || isBefore(place, to))) return part;
  }
  return ownPartOfFile(place.file);
}

const isBefore = (a: CodePlace, b: CodePlace): boolean =>
  a.line < b.line || (a.line === b.line && a.column < b.column);
