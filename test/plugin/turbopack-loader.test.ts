import { parse } from 'acorn';
import { expect, it } from 'vitest';
import type { PluginOptions } from '../../src/plugin/options.ts';
import tostaticLoader from '../../src/plugin/turbopack-loader.ts';

interface Loaded {
  readonly code: string;
  readonly map: { readonly sourcesContent?: readonly string[] } | undefined;
}

/** Calls the loader as Turbopack and webpack do. */
function load(resourcePath: string, text: string, options: PluginOptions = {}): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    void tostaticLoader.call(
      {
        resourcePath,
        getOptions: () => options,
        async: () => (error, code, map) => (error ? reject(error) : resolve({ code: code!, map })),
      },
      text,
    );
  });
}

it('compiles TypeScript and JSX, and keeps directives first', async () => {
  const text = "'use client';\nexport const Page = (p: { n: number }) => <b>{p.n}</b>;\n";
  const { code, map } = await load('/app/page.tsx', text);
  expect(code).toMatch(/^["']use client["'];import\{probe as __tostatic\}/);
  expect(code).toContain('.hit(');
  // Acorn reads neither types nor JSX; the text that is carried along has both.
  expect(() => parse(code, { ecmaVersion: 'latest', sourceType: 'module' })).not.toThrow();
  expect(map?.sourcesContent).toEqual([text]);
});

it('compiles JSX in a .js file', async () => {
  const { code } = await load('/app/page.js', 'export const Page = () => <b>1</b>;');
  expect(code).toContain('react/jsx-runtime');
});

it.each([
  ['an installed package', '/app/node_modules/p/index.js', 'export const f = (x) => x;'],
  ['a module without functions', '/app/a.ts', 'export const a: number = 1;'],
])('leaves %s unchanged', async (_what, path, text) => {
  expect((await load(path, text)).code).toBe(text);
});

it('reports a syntax error to the bundler', async () => {
  await expect(load('/app/a.ts', 'export const = 1;')).rejects.toThrow(/Unexpected token/);
});
