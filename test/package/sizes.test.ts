/** What a page downloads: bundled, minified, without what nothing uses, and compressed. */

import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { beforeAll, expect, it } from 'vitest';
import { installed } from './installed.ts';

/** Programs, and the most kB that each may take. What grew is to be found, not to be allowed for. */
const programs: Readonly<Record<string, readonly [source: string, kilobytes: number]>> = {
  'an eager op': [
    "import { add, tensor } from 'tostatic/runtime'; add(tensor([1]), 2).toString();",
    147,
  ],
  'a layer and an optimizer': [
    `import { nn, optim, tensor } from 'tostatic/runtime';
    const model = new nn.Linear(2, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    model.forward(tensor([[1, 2]])).sum().backward();
    optimizer.step();`,
    220,
  ],
  'the loader of saved programs': [
    "import { load } from 'tostatic/runtime'; await load(new Uint8Array());",
    194,
  ],
  toStatic: [
    "import { tensor, toStatic } from 'tostatic'; toStatic((x) => x.mul(2))(tensor([1]));",
    500,
  ],
};

let project: string;
beforeAll(async () => {
  ({ project } = await installed());
}, 240_000);

/** The entry and what it imports at once; chunks that are loaded later don't count. */
function loadedFiles({ outputs }: Metafile): string[] {
  const entry = Object.keys(outputs).filter((name) => outputs[name]!.entryPoint === 'program.js');
  const found = new Set(entry);
  for (const name of found) {
    for (const { path, kind, external } of outputs[name]!.imports) {
      if (kind === 'import-statement' && !external) found.add(path);
    }
  }
  return [...found];
}

it.each(Object.entries(programs))('%s', async (_name, [contents, kilobytes]) => {
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
  const files = loadedFiles(metafile);
  const bytes = files.map((name) => {
    const { contents: text } = outputFiles.find(({ path }) => path.endsWith(name))!;
    return gzipSync(text, { level: 9 }).length;
  });
  const total = bytes.reduce((a, b) => a + b, 0) / 1e3;
  const inputs = files.flatMap((name) => Object.entries(metafile.outputs[name]!.inputs));
  const largest = inputs
    .sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)
    .slice(0, 8)
    .map(([path, { bytesInOutput }]) => `${bytesInOutput} B of ${path}`);
  expect(total, `${total} kB; minified: ${largest.join(', ')}`).toBeLessThanOrEqual(kilobytes);
});
