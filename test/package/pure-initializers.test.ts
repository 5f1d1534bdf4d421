import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { type Plugin, rolldown } from 'rolldown';
import { describe, expect, inject, it } from 'vitest';
import { pureInitializers } from '../../build/pure-initializers.ts';
import { families } from '../../runtime/ops/op-families.ts';
import '../../runtime/index.ts';
import { opTable } from '../../runtime/ops/op-table.ts';

const root = join(import.meta.dirname, '../..');

const marked = pureInitializers(root).transform as (
  code: string,
  id: string,
) => { readonly code: string } | null;

/** By the text of the module: the bundles of this file have most modules in common. */
const published = new Map<string, string>();

/** Makes of a module what is published. */
const asPublished: Plugin = {
  name: 'as-published',
  transform(code, id) {
    const key = `${id}\n${code}`;
    let text = published.get(key);
    if (text === undefined) {
      const script = transformSync(code, { loader: 'ts', target: 'es2022', sourcefile: id }).code;
      text = marked(script, id)?.code ?? script;
      published.set(key, text);
    }
    return { code: text, moduleType: 'js' };
  },
};

/** A file of the runtime with all that it refers to, as the published files leave out the rest. */
async function bundleOf(file: string, ...plugins: readonly Plugin[]): Promise<string> {
  const bundle = await rolldown({
    input: join(root, file),
    external: [/^node:/],
    plugins: [...plugins, asPublished],
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm' });
  return output[0].code;
}

it('programs find every op by name in a bundle', async () => {
  const file = join(inject('packageFolder'), 'op-table.mjs');
  writeFileSync(file, await bundleOf('runtime/ops/op-table.ts'));
  const bundled = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    readonly opTable: typeof opTable;
  };
  expect([...bundled.opTable.keys()].sort()).toEqual([...opTable.keys()].sort());
  expect(opTable.size).toBeGreaterThan(150);
});

/** The ops that are defined where a family is loaded, and nothing else. */
async function opsOf(family: string): Promise<readonly string[]> {
  const entry: Plugin = {
    name: 'entry',
    load: (id) =>
      id === join(root, 'runtime/ops/family.ts')
        ? `import { ${family}Ops } from './families/${family}.ts';
           import { opsIn } from './record/define-op.ts';
           export const names = [...opsIn(${family}Ops).keys()];`
        : null,
    resolveId: (id) => (id === join(root, 'runtime/ops/family.ts') ? id : null),
  };
  const file = join(inject('packageFolder'), `${family}-ops.mjs`);
  writeFileSync(file, await bundleOf('runtime/ops/family.ts', entry));
  const { names } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    readonly names: readonly string[];
  };
  return names;
}

describe('a page that loads ops of a program by family', () => {
  const placed = ['drawUniform', 'drawNormal']; // made of the random ones
  const listed = Object.entries(families).map(
    ([family, { ops }]) => [family, ops.split(' ')] as const,
  );
  const inFamilies = new Set(listed.flatMap(([, ops]) => ops));

  it.each(listed)('finds those of %s', { timeout: 60_000 }, async (family, ops) => {
    const found = await opsOf(family);
    expect(found).toEqual(expect.arrayContaining(ops.filter((name) => !placed.includes(name))));
  });

  it('finds all others in the core', { timeout: 60_000 }, async () => {
    const rest = [...opTable.keys()].filter((name) => !inFamilies.has(name));
    expect(await opsOf('core')).toEqual(expect.arrayContaining(rest));
  });

  it('has each op in one family', () => {
    const all = listed.flatMap(([, ops]) => ops);
    expect(inFamilies.size).toBe(all.length);
    const unknown = all.filter((name) => !opTable.has(name));
    expect(unknown.sort()).toEqual([...placed].sort());
  });
});

it('a bundle has the ops that its functions perform, and not their neighbours', async () => {
  const code = await bundleOf('runtime/ops/products/matmul.ts');
  expect(code).toContain('name: "matmul"');
  for (const other of ['conv2d', 'cummax', 'standardize']) {
    expect(code).not.toContain(`name: "${other}"`);
  }
});
