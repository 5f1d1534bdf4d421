import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { tostatic } from '../../src/plugin/index.ts';
import type { PluginOptions } from '../../src/plugin/options.ts';

interface Loaded {
  readonly contents: string;
  readonly loader: string;
}
type Load = (file: { readonly path: string }) => Loaded | Promise<Loaded>;

const folder = mkdtempSync(join(tmpdir(), 'bun-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Loads a file as Bun's runtime does: no file that a filter matches may be left without a result. */
function load(name: string, text: string, options?: PluginOptions) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const hooks: { readonly filter: RegExp; readonly load: Load }[] = [];
  const bun = { version: '1.4.5', semver: { satisfies: () => true } };
  Object.assign(globalThis, { Bun: bun });
  try {
    const { setup } = tostatic.bun(options) as unknown as { setup(build: object): unknown };
    void setup({
      onLoad: ({ filter }: { readonly filter: RegExp }, load: Load) => hooks.push({ filter, load }),
      onResolve: () => {
        throw new Error('onResolve() does not support pending promises');
      },
    });
  } finally {
    Reflect.deleteProperty(globalThis, 'Bun');
  }
  return hooks.find(({ filter }) => filter.test(path))?.load({ path });
}

it('instruments JavaScript synchronously, for require', () => {
  const loaded = load('a.js', 'export const f = (x) => x;\n') as Loaded;
  expect(loaded.loader).toBe('js');
  expect(loaded.contents).toContain('.hit(');
});

it('compiles TypeScript and JSX', async () => {
  const loaded = await load('a.tsx', 'export const f = (p: { n: number }) => <b>{p.n}</b>;\n');
  expect(loaded?.loader).toBe('js');
  expect(loaded?.contents).toContain('.hit(');
});

it('returns files that it leaves alone as they are', async () => {
  for (const [name, loader] of Object.entries({ 'b.mjs': 'js', 'b.cts': 'ts', 'b.jsx': 'jsx' })) {
    const text = 'export const a = 1;\n';
    expect(await load(name, text)).toEqual({ contents: text, loader });
    expect(await load(name, `${text}export const f = () => a;`, { exclude: 'b.' })).toMatchObject({
      loader,
    });
  }
});
