import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { vi } from 'vitest';
import { endCaptureSession } from '../../src/1-capture/capture.ts';
import { probeFile } from '../../src/plugin/probe-file.ts';
import { transform } from '../../src/plugin/transform.ts';

const folder = mkdtempSync(join(tmpdir(), 'tostatic-plugin-'));
// Files that share a process share this module, and load from the folder one after another.
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// A second copy of the probe: what counts is the object behind the global symbol.
const probe = join(folder, 'probe.mjs');
writeFileSync(probe, transformSync(readFileSync(probeFile, 'utf8'), { loader: 'ts' }).code);

let modules = 0;

export type Loaded = Record<string, unknown>;

// The test runner rewrites `import()` wherever it sees it, and what that loads.
const importer = join(folder, 'import.cjs');
writeFileSync(importer, 'module.exports = (url) => import(url);');
const importNatively = createRequire(importer)(importer) as (url: string) => Promise<Loaded>;

/** Runs a module as Node runs it. */
export function loadModule(code: string): Promise<Loaded> {
  const file = join(folder, `module${modules++}.mjs`);
  writeFileSync(file, code);
  return importNatively(pathToFileURL(file).href);
}

export function instrument(code: string, id = join(folder, 'user.mjs')): string {
  const done = transform(code, id, { probe: pathToFileURL(probe).href });
  if (!done) throw new Error(`nothing to instrument in:\n${code}`);
  return done.code;
}

/** As under `--permission` and in a page: nothing can look into functions. */
export function withoutInspector(): void {
  endCaptureSession();
  const original = process.getBuiltinModule;
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((id: string) =>
    id === 'node:inspector' ? undefined : original(id)) as typeof original);
}
