/** What a page downloads: bundled, minified, without what nothing uses, and compressed. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ConvNet } from '../../examples/workloads/conv-net.ts';
import { Mlp } from '../../examples/workloads/mlp.ts';
import { noGrad, rand, save, seed, type Tensor, toStatic } from '../../src/index.ts';
import { installed } from './installed.ts';
import { bundlePage, type Chunk } from './page-bundles.ts';

/** Programs, and the most kB that each may take by each bundler. What grew is to be found, not to be allowed for. */
const programs: Readonly<Record<string, readonly [source: string, kilobytes: Kilobytes]>> = {
  'an eager op': [
    "import { add, tensor } from 'tostatic/runtime'; add(tensor([1]), 2).toString();",
    { rolldown: 116.7, esbuild: 124.2 },
  ],
  // The compiler is left out where nothing of it is used.
  'an eager op, by the name of the package': [
    "import { add, tensor } from 'tostatic'; add(tensor([1]), 2).toString();",
    { rolldown: 116.8, esbuild: 124.3 },
  ],
  'a layer and an optimizer': [
    `import { nn, optim, tensor } from 'tostatic/runtime';
    const model = new nn.Linear(2, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    model.forward(tensor([[1, 2]])).sum().backward();
    optimizer.step();`,
    // esbuild keeps all of a namespace that another module exports; `tostatic/nn` is no namespace.
    { rolldown: 125.8, esbuild: 268.4 },
  ],
  'an eager op, by functions': [
    "import { add, tensor } from 'tostatic/functions'; add(tensor([1]), 2).toString();",
    { rolldown: 54.8, esbuild: 58.7 },
  ],
  'a layer and an optimizer, by functions': [
    `import { sum, tensor } from 'tostatic/functions';
    import { Linear } from 'tostatic/nn';
    import { SGD } from 'tostatic/optim';
    const model = new Linear(2, 3);
    const optimizer = new SGD(model.parameters(), { lr: 1 });
    sum(model.forward(tensor([[1, 2]]))).backward();
    optimizer.step();`,
    { rolldown: 76.2, esbuild: 81.6 },
  ],
  'the loader of saved programs': [
    "import { load } from 'tostatic/runtime'; await load(new Uint8Array());",
    { rolldown: 208.3, esbuild: 221.7 },
  ],
  'the loader of saved programs, by the name of the package': [
    "import { load } from 'tostatic'; await load(new Uint8Array());",
    { rolldown: 208.2, esbuild: 221.7 },
  ],
  'the loader of saved programs, by functions': [
    "import { load } from 'tostatic/functions'; await load(new Uint8Array());",
    { rolldown: 186.8, esbuild: 199.2 },
  ],
  // What `load` brings later is counted below.
  'the loader of saved programs, in parts': [
    "import { load } from 'tostatic/load'; await load(new Uint8Array());",
    { rolldown: 68.8, esbuild: 71.1 },
  ],
  'the loader of saved programs, in parts, and an eager op by functions': [
    `import { load } from 'tostatic/load';
    import { add, tensor } from 'tostatic/functions';
    await load(new Uint8Array());
    add(tensor([1]), 2);`,
    { rolldown: 68.8, esbuild: 71.1 },
  ],
  toStatic: [
    "import { tensor, toStatic } from 'tostatic'; toStatic((x) => x.mul(2))(tensor([1]));",
    { rolldown: 585.6, esbuild: 612.5 },
  ],
  // Before the compiler, which the first step requests.
  'toStatic with a later compiler': [
    `import { tensor } from 'tostatic/runtime';
    import { toStatic } from 'tostatic/deferred';
    toStatic((x) => x.mul(2))(tensor([1]));`,
    { rolldown: 157, esbuild: 164.7 },
  ],
  'toStatic with a later compiler, by functions': [
    `import { mul, tensor } from 'tostatic/functions';
    import { toStatic } from 'tostatic/deferred';
    toStatic((x) => mul(x, 2))(tensor([1]));`,
    { rolldown: 73.1, esbuild: 76.7 },
  ],
  'a captured step with a later compiler': [
    `import { nn, optim, tensor } from 'tostatic/runtime';
    import { toStatic } from 'tostatic/deferred';
    const model = new nn.Linear(2, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
    const step = toStatic((x) => {
      model.forward(x).sum().backward();
      optimizer.step();
    });
    step(tensor([[1, 2]]));`,
    { rolldown: 165.8, esbuild: 298.8 },
  ],
  'a captured step with a later compiler, by functions': [
    `import { sum, tensor } from 'tostatic/functions';
    import { toStatic } from 'tostatic/deferred';
    import { Linear } from 'tostatic/nn';
    import { SGD } from 'tostatic/optim';
    const model = new Linear(2, 3);
    const optimizer = new SGD(model.parameters(), { lr: 1 });
    const step = toStatic((x) => {
      sum(model.forward(x)).backward();
      optimizer.step();
    });
    step(tensor([[1, 2]]));`,
    { rolldown: 162.9, esbuild: 198.4 },
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

const bundlers = ['rolldown', 'esbuild'] as const;

/** The limits are those of the zlib of Node 20; others compress a little differently. */
const slack = process.versions.node.startsWith('20.') ? 1 : 1.002;

const kilobytesOf = (chunks: readonly Chunk[]): number =>
  chunks.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0) / 1e3;

const largestIn = (chunks: readonly Chunk[]): string =>
  chunks
    .flatMap(({ modules }) => modules)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([path, length]) => `${length} B of ${path}`)
    .join(', ');

const cases = Object.entries(programs).flatMap(([name, [contents, kilobytes]]) =>
  bundlers.map((bundler) => [name, bundler, contents, kilobytes[bundler]] as const),
);

it.each(cases)('%s, by %s', async (_name, bundler, contents, kilobytes) => {
  const { atOnce } = await bundlePage[bundler](contents, project);
  const total = kilobytesOf(atOnce);
  expect(total, `${total} kB; largest: ${largestIn(atOnce)}`).toBeLessThanOrEqual(
    kilobytes * slack,
  );
});

/** Saved programs, and the most kB that a page downloads to load and run each of them. */
const saved: Readonly<Record<string, readonly [model: () => Mlp | ConvNet, Kilobytes]>> = {
  'the MLP for digits': [() => new Mlp(64), { rolldown: 123.3, esbuild: 128.2 }],
  'the convolutional network for digits': [
    () => new ConvNet(4),
    { rolldown: 148.9, esbuild: 154.7 },
  ],
};

/** Prints the addresses of all modules that are loaded. */
const hooks = `
import { register } from 'node:module';
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
export function load(url, context, next) {
  writeSync(1, 'loaded ' + url + '\\n');
  return next(url, context);
}
if (isMainThread) register(import.meta.url, { parentURL: import.meta.url });`;

describe('all that a page downloads to load and run a program', () => {
  const all = Object.entries(saved).flatMap(([name, [model, kilobytes]]) =>
    bundlers.map((bundler) => [name, bundler, model, kilobytes[bundler]] as const),
  );
  it.each(all)('%s, by %s', { timeout: 60_000 }, async (name, bundler, model, kilobytes) => {
    seed(1);
    const network = model();
    network.eval();
    const program = toStatic((images: Tensor) => network.forward(images));
    const images = rand([2, 1, 28, 28]);
    const expected = noGrad(() => (program(images).toArraySync() as number[][]).flat());
    const folder = join(project, `${bundler} ${name}`);
    mkdirSync(folder, { recursive: true });
    await save(program, join(folder, 'program.tostatic'));
    const contents = `
      import { load, noGrad, tensor } from 'tostatic/load';
      import { readFileSync } from 'node:fs';
      const file = (name) => readFileSync(new URL(name, import.meta.url));
      const program = await load(new Uint8Array(file('program.tostatic')));
      const images = tensor(JSON.parse(file('images.json')));
      console.log(JSON.stringify(noGrad(() => program(images)).toArraySync().flat()));`;
    const { chunks, atOnce } = await bundlePage[bundler](contents, project);
    for (const { name, code } of chunks) writeFileSync(join(folder, name), code);
    writeFileSync(join(folder, 'images.json'), JSON.stringify(images.toArraySync()));
    writeFileSync(join(folder, 'hooks.mjs'), hooks);
    const address = (file: string) => pathToFileURL(join(folder, file)).href;
    const args = ['--no-warnings', '--import', address('hooks.mjs'), join(folder, chunks[0]!.name)];
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split('\n');
    expect(JSON.parse(printed.at(-1)!)).toEqual(expected);
    const loaded = chunks.filter((chunk) => printed.includes(`loaded ${address(chunk.name)}`));
    expect(loaded).toEqual(expect.arrayContaining([...atOnce]));
    const total = kilobytesOf(loaded);
    const largest = loaded.map((each) => `${kilobytesOf([each])} kB: ${largestIn([each])}`);
    expect(total, `${total} kB\n${largest.join('\n')}`).toBeLessThanOrEqual(kilobytes * slack);
  });
});
