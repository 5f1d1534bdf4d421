/** What a page downloads: bundled, minified, without what nothing uses, and compressed. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { beforeAll, expect, it } from 'vitest';
import { installed } from './installed.ts';

/** Programs, and the most kB that each may take by each bundler. What grew is to be found, not to be allowed for. */
const programs: Readonly<Record<string, readonly [source: string, kilobytes: Kilobytes]>> = {
  'an eager op': [
    "import { add, tensor } from 'tostatic/runtime'; add(tensor([1]), 2).toString();",
    { rolldown: 105, esbuild: 112 },
  ],
  // The compiler is left out where nothing of it is used.
  'an eager op, by the name of the package': [
    "import { add, tensor } from 'tostatic'; add(tensor([1]), 2).toString();",
    { rolldown: 105, esbuild: 112 },
  ],
  'a layer and an optimizer': [
    `import { nn, optim, tensor } from 'tostatic/runtime';
    const model = new nn.Linear(2, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    model.forward(tensor([[1, 2]])).sum().backward();
    optimizer.step();`,
    // esbuild keeps all of a namespace that another module exports; `tostatic/nn` is no namespace.
    { rolldown: 118, esbuild: 233 },
  ],
  'an eager op, by functions': [
    "import { add, tensor } from 'tostatic/functions'; add(tensor([1]), 2).toString();",
    { rolldown: 57, esbuild: 62 },
  ],
  'a layer and an optimizer, by functions': [
    `import { sum, tensor } from 'tostatic/functions';
    import { Linear } from 'tostatic/nn';
    import { SGD } from 'tostatic/optim';
    const model = new Linear(2, 3);
    const optimizer = new SGD(model.parameters(), { lr: 1 });
    sum(model.forward(tensor([[1, 2]]))).backward();
    optimizer.step();`,
    { rolldown: 80, esbuild: 86 },
  ],
  'the loader of saved programs': [
    "import { load } from 'tostatic/runtime'; await load(new Uint8Array());",
    { rolldown: 187, esbuild: 202 },
  ],
  'the loader of saved programs, by the name of the package': [
    "import { load } from 'tostatic'; await load(new Uint8Array());",
    { rolldown: 187, esbuild: 202 },
  ],
  'the loader of saved programs, by functions': [
    "import { load } from 'tostatic/functions'; await load(new Uint8Array());",
    { rolldown: 172, esbuild: 184 },
  ],
  toStatic: [
    "import { tensor, toStatic } from 'tostatic'; toStatic((x) => x.mul(2))(tensor([1]));",
    { rolldown: 517, esbuild: 542 },
  ],
};

interface Kilobytes {
  /** As Vite bundles. */
  readonly rolldown: number;
  readonly esbuild: number;
}

let project: string;
beforeAll(async () => {
  ({ project } = await installed());
}, 240_000);

interface Chunk {
  readonly code: string;
  /** Bytes of the modules in it. */
  readonly modules: readonly (readonly [path: string, bytes: number])[];
}

const bundlers = {
  async esbuild(contents: string): Promise<Chunk[]> {
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
    const first = Object.keys(outputs).find((name) => outputs[name]!.entryPoint === 'program.js')!;
    const imported = (name: string) =>
      outputs[name]!.imports.filter(
        ({ kind, external }) => kind === 'import-statement' && !external,
      ).map(({ path }) => path);
    return loadedFrom(first, imported).map((name) => ({
      code: outputFiles.find(({ path }) => path.endsWith(name))!.text,
      modules: Object.entries(outputs[name]!.inputs).map(
        ([path, { bytesInOutput }]) => [path, bytesInOutput] as const,
      ),
    }));
  },

  async rolldown(contents: string): Promise<Chunk[]> {
    const entry = join(project, 'program.js');
    writeFileSync(entry, contents);
    const bundle = await rolldown({
      input: entry,
      external: [/^node:/],
      platform: 'browser',
      cwd: project,
      logLevel: 'silent',
    });
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    const chunks = output.filter((each) => each.type === 'chunk');
    const chunkOf = (name: string) => chunks.find(({ fileName }) => fileName === name)!;
    const { fileName } = chunks.find(({ isEntry }) => isEntry)!;
    const imported = (name: string) =>
      chunkOf(name).imports.filter((each) => chunkOf(each) !== undefined);
    return loadedFrom(fileName, imported).map((name) => {
      const { code, modules } = chunkOf(name);
      return {
        code,
        modules: Object.entries(modules).map(
          ([path, { renderedLength }]) => [path, renderedLength] as const,
        ),
      };
    });
  },
};

/** The entry and what it imports at once; chunks that are loaded later don't count. */
function loadedFrom(entry: string, imported: (name: string) => readonly string[]): string[] {
  const found = new Set([entry]);
  for (const name of found) for (const each of imported(name)) found.add(each);
  return [...found];
}

const cases = Object.entries(programs).flatMap(([name, [contents, kilobytes]]) =>
  (['rolldown', 'esbuild'] as const).map(
    (bundler) => [name, bundler, contents, kilobytes[bundler]] as const,
  ),
);

it.each(cases)('%s, by %s', async (_name, bundler, contents, kilobytes) => {
  const chunks = await bundlers[bundler](contents);
  const bytes = chunks.map(({ code }) => gzipSync(code, { level: 9 }).length);
  const total = bytes.reduce((a, b) => a + b, 0) / 1e3;
  const largest = chunks
    .flatMap(({ modules }) => modules)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([path, length]) => `${length} B of ${path}`);
  expect(total, `${total} kB; largest: ${largest.join(', ')}`).toBeLessThanOrEqual(kilobytes);
});
