import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import type { Plugin } from 'vitest/config';

const root = resolve(import.meta.dirname, '..');
const folders = ['runtime', 'src'];

/**
 * The sources as JavaScript, file by file, in a folder of their own: Node loads them in half a second, where Vitest takes
 * several to fetch and evaluate as many modules in each of its processes.
 */
export class CompiledSources {
  readonly folder = mkdtempSync(join(tmpdir(), 'tostatic-sources-'));

  constructor() {
    process.once('exit', () => rmSync(this.folder, { recursive: true, force: true }));
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }');
    const entryPoints: string[] = [];
    for (const folder of folders) {
      // Copies what isn't compiled, and with it makes the folders of what is.
      cpSync(join(root, folder), join(this.folder, folder), {
        recursive: true,
        filter: (path) => !path.endsWith('.ts') || !entryPoints.push(path),
      });
    }
    const { outputFiles } = buildSync({
      entryPoints,
      outdir: this.folder,
      outbase: root,
      format: 'esm',
      write: false,
    });
    for (const { path, text } of outputFiles) writeFileSync(path, withCompiledImports(text));
  }

  /** Leads imports of sources to them. */
  plugin(): Plugin {
    return {
      name: 'compiled-sources',
      enforce: 'pre',
      resolveId: (id, importer) => {
        if (!id.endsWith('.ts')) return null;
        const path = importer && id.startsWith('.') ? resolve(dirname(importer), id) : id;
        if (!folders.some((folder) => path.startsWith(join(root, folder, '/')))) return null;
        return compiled(join(this.folder, path.slice(root.length)));
      },
    };
  }
}

const compiled = (file: string): string => file.replace(/\.ts$/, '.js');

/** Leads imports of sources, in their compiled text, to compiled sources. */
export const withCompiledImports = (code: string): string =>
  code.replace(/((?:from|import) ?\(?"\.[^"]+)\.ts"/g, '$1.js"');
