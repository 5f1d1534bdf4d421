/**
 * From a place in the code that runs to the place in the file that the user wrote, through the source map
 * that the code names. Only errors and explanations ask, so the map is read when the first of them does.
 */

import { textOfDataUrl } from './data-url.ts';
import { type OriginalPlace, readSourceMap } from './source-map.ts';
import type { CodePlace } from './stack-lines.ts';

/** Source maps by URL; null if there is none, or none that can be read. */
const maps = new Map<string, OriginalPlace | null>();

/** The user's place, or the one given where there is no source map. */
export function originalPlace(place: CodePlace): CodePlace {
  const { file, line, column } = place;
  let map = maps.get(file);
  if (map === undefined) {
    map = openMap(file);
    maps.set(file, map);
  }
  return map?.(line, column) ?? place;
}

function openMap(file: string): OriginalPlace | null {
  try {
    const url = /^[a-z][a-z0-9+.-]+:/i.test(file) ? file : `file://${file}`;
    const named = mapComment(readText(url));
    if (named === undefined) return null;
    const inline = textOfDataUrl(named);
    if (inline !== undefined) return readSourceMap(inline, url);
    const mapUrl = new URL(named, url).href;
    return readSourceMap(readText(mapUrl), mapUrl);
  } catch {
    // The error that asks has more to say than that its map can't be had.
    return null;
  }
}

/** The URL in the last `//# sourceMappingURL=`; text of other modules may contain such comments, too. */
function mapComment(code: string): string | undefined {
  return [...code.matchAll(/^\s*\/\/[#@] sourceMappingURL=(\S+)\s*$/gm)].at(-1)?.[1];
}

/**
 * An error needs its place now, so this waits. Throws where nothing can be read: without files or
 * requests, for what isn't there, or under a policy that forbids it.
 */
function readText(url: string): string {
  if (url.startsWith('file:')) {
    const { readFileSync } = process.getBuiltinModule('node:fs');
    return readFileSync(new URL(url), 'utf8');
  }
  // The script is in the browser's cache; its map is there only where the user serves it.
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.send();
  if (request.status !== 200) throw new Error(`${url}: status ${request.status}`);
  return request.responseText;
}
