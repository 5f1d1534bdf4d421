/** Programs bundled for pages, minified, without what nothing uses. */

import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';

export interface Chunk {
  readonly name: string;
  readonly code: string;
  /** Bytes of the modules in it. */
  readonly modules: readonly (readonly [path: string, bytes: number])[];
}

export interface PageBundle {
  /** All chunks, its entry first. */
  readonly chunks: readonly Chunk[];
  /** The entry and what it imports at once; others are loaded later, or never. */
  readonly atOnce: readonly Chunk[];
}

export type Bundler = 'rolldown' | 'esbuild';

/** Bundles a program that imports from the package as `project` has it. */
export const bundlePage: {
  readonly [B in Bundler]: (contents: string, project: string) => Promise<PageBundle>;
} = {
  async esbuild(contents, project) {
    const { outputFiles, metafile } = await build({
      stdin: { contents, resolveDir: project, sourcefile: 'program.js' },
      bundle: true,
      minify: true,
      splitting: true,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: ['node:*'],
      outdir: project,
      absWorkingDir: project,
      write: false,
      metafile: true,
      logLevel: 'error',
    });
    const { outputs } = metafile;
    const entry = Object.keys(outputs).find((name) => outputs[name]!.entryPoint === 'program.js')!;
    const chunks = outputFiles.map(({ path, text }): Chunk => {
      const name = basename(path);
      const modules = Object.entries(outputs[name]!.inputs);
      return {
        name,
        code: text,
        modules: modules.map(([each, { bytesInOutput }]) => [each, bytesInOutput] as const),
      };
    });
    return pageBundle(chunks, entry, (name) =>
      outputs[name]!.imports.filter(({ kind }) => kind === 'import-statement').map(
        ({ path }) => path,
      ),
    );
  },

  async rolldown(contents, project) {
    const input = join(project, 'program.js');
    writeFileSync(input, contents);
    const bundle = await rolldown({
      input,
      external: [/^node:/],
      platform: 'browser',
      cwd: project,
      logLevel: 'silent',
    });
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    const found = output.filter((each) => each.type === 'chunk');
    const chunks = found.map(
      ({ fileName, code, modules }): Chunk => ({
        name: fileName,
        code,
        modules: Object.entries(modules).map(
          ([path, { renderedLength }]) => [path, renderedLength] as const,
        ),
      }),
    );
    const entry = found.find(({ isEntry }) => isEntry)!.fileName;
    return pageBundle(
      chunks,
      entry,
      (name) => found.find(({ fileName }) => fileName === name)!.imports,
    );
  },
};

function pageBundle(
  chunks: readonly Chunk[],
  entry: string,
  imported: (name: string) => readonly string[],
): PageBundle {
  const byName = new Map(chunks.map((chunk) => [chunk.name, chunk]));
  const found = new Set([entry]);
  for (const name of found)
    for (const each of imported(name)) if (byName.has(each)) found.add(each);
  return {
    chunks: chunks.toSorted((a, b) => Number(b.name === entry) - Number(a.name === entry)),
    atOnce: [...found].map((name) => byName.get(name)!),
  };
}
