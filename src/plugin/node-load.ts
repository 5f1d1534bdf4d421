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

/** Node 22.13 and later run TypeScript by taking the types out. */
const { stripTypeScriptTypes } = nodeModule as {
  stripTypeScriptTypes?: (code: string) => string;
};

/** A module with probes in it, as its source map says where everything was; others as they are. */
export function loadInstrumented<M extends LoadedModule>(url: string, loaded: M): M {
  // CommonJS can't import the probe; Node's own inspector serves its functions.
  const { format, source } = loaded;
  const typed = format === 'module-typescript' && stripTypeScriptTypes !== undefined;
  if ((format !== 'module' && !typed) || source == null || !url.startsWith('file:')) return loaded;
  const path = fileURLToPath(url);
  if (!isIncluded(path, {})) return loaded;
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
  try {
    // Node puts spaces in the place of types, so nothing moves and no map is needed.
    const found = takeInlineMap(typed ? stripTypeScriptTypes(text) : text, path);
    // Absolute files: where the process was started says nothing about a module.
    const done = transform(found.code, path, { root: null, probe: probeFile.href }, found.map);
    const instrumented = done && { source: done.code + inlineMap(done.map), format: 'module' };
    return instrumented ? { ...loaded, ...instrumented } : loaded;
  } catch (error) {
    process.emitWarning(`${path} is left as it is: ${String(error)}`, 'tostatic');
    return loaded;
  }
}

const comment = /\n\/\/[#@] sourceMappingURL=data:application\/json[^,]*?(;base64)?,(\S+)\s*$/;

/** The map that a compiler before us left at the end; one comment per file is what Node reads. */
function takeInlineMap(code: string, path: string): { code: string; map?: string } {
  const match = comment.exec(code);
  if (!match) return { code };
  const body = match[2] ?? '';
  const map = match[1] ? Buffer.from(body, 'base64').toString('utf8') : decodeURIComponent(body);
  return { code: code.slice(0, match.index + 1), map: withContent(map, path) };
}

/** Some compilers leave the user's text out, as the file is there. */
function withContent(json: string, path: string): string {
  const map = JSON.parse(json) as { sources: string[]; sourcesContent?: unknown[] };
  if (map.sources.length !== 1 || map.sourcesContent) return json;
  return JSON.stringify({ ...map, sourcesContent: [readFileSync(path, 'utf8')] });
}
