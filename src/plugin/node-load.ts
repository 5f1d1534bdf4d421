import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { inlineMap } from './inline-map.ts';
import { isIncluded } from './options.ts';
import { probeFile } from './probe-file.ts';
import { transform } from './transform.ts';

/** The module that Node's `load` hooks return. */
export interface LoadedModule {
  readonly format?: string | null | undefined;
  readonly source?: string | ArrayBuffer | NodeJS.TypedArray | null | undefined;
}

/** Node 22.13 and later run TypeScript by stripping its types. */
const { stripTypeScriptTypes } = nodeModule as {
  stripTypeScriptTypes?: (code: string) => string;
};

/** Returns a module with probes, if its format allows them, and a source map to its original positions. */
export function loadInstrumented<M extends LoadedModule>(url: string, loaded: M): M {
  const { source } = loaded;
  if (source == null || !url.startsWith('file:')) return loaded;
  const path = fileURLToPath(url);
  if (!isIncluded(path, {})) return loaded;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  // CommonJS can't import the probe; Node's inspector captures its functions.
  const format = loaded.format ?? formatOf(path, text);
  const typed = format === 'module-typescript' && stripTypeScriptTypes !== undefined;
  if (format !== 'module' && !typed) return loaded;
  try {
    // Node replaces types by spaces, so nothing moves and no map is needed.
    const found = takeInlineMap(typed ? stripTypeScriptTypes(text) : text, path);
    // Absolute paths, since modules may be outside the working directory.
    const done = transform(found.code, path, { root: null, probe: probeFile.href }, found.map);
    const instrumented = done && { source: done.code + inlineMap(done.map), format: 'module' };
    return instrumented ? { ...loaded, ...instrumented } : loaded;
  } catch (error) {
    process.emitWarning(`${path} is left as it is: ${String(error)}`, 'tostatic');
    return loaded;
  }
}

/** Deno's hooks don't report the format: text without imports and exports is CommonJS. */
function formatOf(path: string, text: string): string {
  if (!/^\s*(?:import\s*["{*\w]|export\b)/m.test(text)) return 'commonjs';
  return /\.m?ts$/.test(path) ? 'module-typescript' : 'module';
}

const comment = /\n\/\/[#@] sourceMappingURL=data:application\/json[^,]*?(;base64)?,(\S+)\s*$/;

/** Removes the map that an earlier compiler left at the end; Node reads only one such comment per file. */
function takeInlineMap(code: string, path: string): { code: string; map?: string } {
  const match = comment.exec(code);
  if (!match) return { code };
  const body = match[2] ?? '';
  const map = match[1] ? Buffer.from(body, 'base64').toString('utf8') : decodeURIComponent(body);
  return { code: code.slice(0, match.index + 1), map: withContent(map, path) };
}

/** Adds the user's text if the compiler omitted it because the file exists. */
function withContent(json: string, path: string): string {
  const map = JSON.parse(json) as { sources: string[]; sourcesContent?: unknown[] };
  if (map.sources.length !== 1 || map.sourcesContent) return json;
  return JSON.stringify({ ...map, sourcesContent: [readFileSync(path, 'utf8')] });
}
