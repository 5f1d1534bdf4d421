/** The package's code is told from the user's wherever bundlers and minifiers move either. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { minifySync } from 'rolldown/utils';
import { type MinifyOptions, minify } from 'terser';
import { afterAll, describe, expect, test } from 'vitest';
import { ownEdges } from '../../build/own-code.ts';
import { type UserPosition, userPosition } from '../../runtime/errors/position.ts';

// The user's project may have the names of the package's folders.
const root = mkdtempSync(join(tmpdir(), 'own-code-'));
const folder = join(root, 'tostatic/dist');
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(root, { recursive: true }));

const files = {
  'first.js': `export function below(note) { return note(); }
export const arrow = (note) => below(note);
function once(note) { return [1].map(() => below(note))[0]; }
export class Thing { #note; constructor(note) { this.#note = note; } run() { return once(this.#note); } }
`,
  'second.js': `import { arrow, below, Thing } from './first.js';
const table = { deep: (note) => new Thing(note).run(), twice: (note) => [arrow, below].map((f) => f(note))[0] };
export const { deep, twice } = table;
export function single(note) { let last; for (const f of [arrow]) last = f(note); return last; }
`,
  'user.js': `import { arrow, below, Thing } from './first.js';
import { deep, single, twice } from './second.js';
const { mark, note } = globalThis.ownCodeTest;
export const found = {};
export function all() {
  mark('<arrow'); found.arrow = arrow(note); mark('arrow>');
  mark('<below'); found.below = below(note); mark('below>');
  mark('<run'); found.run = new Thing(note).run(); mark('run>');
  mark('<deep'); found.deep = deep(note); mark('deep>');
  mark('<twice'); found.twice = twice(note); mark('twice>');
  mark('<single'); found.single = single(note); mark('single>');
  return found;
}
`,
  'flat.js': "import { all } from './user.js';\nexport const found = all();\n",
  // esbuild moves functions of a module that is loaded on demand out of the module's wrapper.
  'wrapped.js': "export const found = (await import('./user.js')).all();\n",
};

const edges = ownEdges('/compiled');
for (const [name, text] of Object.entries(files)) {
  const chunk = { moduleIds: [`/compiled/runtime/${name}`] };
  const render = edges.renderChunk as (code: string, chunk: object) => string;
  const isPublished = name === 'first.js' || name === 'second.js';
  writeFileSync(join(folder, name), isPublished ? render(text, chunk) : text);
}
const lineOf = (name: string) =>
  files['user.js'].split('\n').findIndex((line) => line.includes(`<${name}'`)) + 1;

interface Code {
  readonly code: string;
  readonly map?: string;
}
type Minify = (bundle: Required<Code>) => Promise<Code> | Code;

const byTerser =
  (options: MinifyOptions): Minify =>
  async ({ code, map }) => {
    const sourceMap = { content: map };
    const done = await minify(code, { module: true, ...options, sourceMap });
    return { code: done.code!, map: done.map as string };
  };

const allOfTerser = {
  passes: 3,
  unsafe: true,
  inline: 3,
  hoist_funs: true,
  hoist_props: true,
  hoist_vars: true,
  toplevel: true,
};

const minifiers: Readonly<Record<string, Minify>> = {
  none: (bundle) => bundle,
  esbuild: async ({ code, map }) => {
    const contents = `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
    const stdin = { contents, resolveDir: folder, sourcefile: 'bundle.js' };
    const common = { format: 'esm', write: false, minify: true, outdir: folder } as const;
    const { outputFiles } = await build({ ...common, stdin, sourcemap: 'external' });
    const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))!.text;
    return { code: textOf('.js'), map: textOf('.map') };
  },
  rolldown: ({ code }) => ({ code: minifySync('bundle.js', code, { module: true }).code }),
  terser: byTerser({}),
  'terser with all it has': byTerser({ compress: allOfTerser, mangle: { toplevel: true } }),
};

async function bundle(entry: string): Promise<Required<Code>> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, entry)],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    sourcemap: 'external',
    outdir: folder,
    outExtension: { '.js': '.bundle.js' },
    write: false,
  });
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))!.text;
  return { code: textOf('.js'), map: textOf('.map') };
}

type Found = Readonly<Record<string, UserPosition | undefined>>;

let runs = 0;
async function run({ code, map }: Code): Promise<{ readonly file: string; readonly found: Found }> {
  runs++;
  const file = join(folder, `out-${runs}.mjs`);
  if (map) writeFileSync(`${file}.map`, map);
  writeFileSync(file, map ? `${code}\n//# sourceMappingURL=out-${runs}.mjs.map\n` : code);
  Object.assign(globalThis, { ownCodeTest: { mark: () => {}, note: userPosition } });
  const { found } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    found: Found;
  };
  return { file, found };
}

describe.each(['flat', 'wrapped'])('a %s bundle', (entry) => {
  for (const [name, minified] of Object.entries(minifiers)) {
    test(`minified by ${name}`, async () => {
      const made = await minified(await bundle(`${entry}.js`));
      const plain = await run({ code: made.code });
      const lines = readFileSync(plain.file, 'utf8').split('\n');
      for (const [call, position] of Object.entries(plain.found)) {
        expect(position?.file, call).toBe(plain.file);
        const before = lines.slice(0, position!.line - 1).join('\n').length + 1;
        const at = (position!.line > 1 ? before : 0) + position!.column - 1;
        const text = lines.join('\n');
        const [from, to] = [`<${call}`, `${call}>`].map((mark) => text.indexOf(mark));
        expect(from! < at && at < to!, `${call} at ${at}, in ${from} to ${to}`).toBe(true);
      }
      if (!made.map) return;
      const { found } = await run(made);
      for (const [call, position] of Object.entries(found)) {
        const { file, line } = position ?? {};
        expect({ call, file, line }).toEqual({
          call,
          file: join(folder, 'user.js'),
          line: lineOf(call),
        });
      }
    });
  }
});
