/**
 * Maps a position in running code to the user's file, through the source map that the code names. Only errors and
 * explanations need it, so a map is read on first use.
 */

import { textOfDataUrl } from './data-url.ts';
import { fileUrl } from './file-name.ts';
import { readSourceMap, type SourceMap } from './source-map.ts';
import type { CodePosition } from './stack-lines.ts';

/** Source maps by URL; null if there is none, or it can't be read. */
const maps = new Map<string, SourceMap | null>();

/** Returns the position in the user's file, or the given one without a source map. */
export function originalPosition(position: CodePosition): CodePosition {
  const { file, line, column } = position;
  let map = maps.get(file);
  if (map === undefined) {
    map = openMap(file);
    maps.set(file, map);
  }
  return map?.originalOf(line, column) ?? position;
}

function openMap(file: string): SourceMap | null {
  try {
    const url = fileUrl(file);
    const named = mapComment(readText(url));
    if (named === undefined) return null;
    const inline = textOfDataUrl(named);
    if (inline !== undefined) return readSourceMap(inline, url);
    const mapUrl = new URL(named, url).href;
    return readSourceMap(readText(mapUrl), mapUrl);
  } catch {
    // The error that needs the position is more important than its missing map.
    return null;
  }
}

/** Returns the URL in the last `//# sourceMappingURL=`; strings in the code may contain such comments too. */
function mapComment(code: string): string | undefined {
  return [...code.matchAll(/^\s*\/\/[#@] sourceMappingURL=(\S+)\s*$/gm)].at(-1)?.[1];
}

/**
 * Reads a text synchronously, because an error needs its position immediately. Throws if nothing can be read:
 * without files or requests, for a missing file, or under a policy that forbids it.
 */
function readText(url: string): string {
  if (url.startsWith('file:')) {
    const { readFileSync } = process.getBuiltinModule('node:fs');
    return readFileSync(new URL(url), 'utf8');
  }
  // The script is in the browser's cache; its map exists only if the user serves it.
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.send();
  if (request.status !== 200) throw new Error(`${url}: status ${request.status}`);
  return request.responseText;
}
