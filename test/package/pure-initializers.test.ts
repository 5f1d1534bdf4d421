import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { type Plugin, rolldown } from 'rolldown';
import { expect, inject, it } from 'vitest';
import { pureInitializers } from '../../build/pure-initializers.ts';
import { opTable } from '../../runtime/ops/op-table.ts';

const root = join(import.meta.dirname, '../..');

const typesRemoved: Plugin = {
  name: 'types-removed',
  transform: (code, id) => ({
    code: transformSync(code, { loader: 'ts', target: 'es2022', sourcefile: id }).code,
    moduleType: 'js',
  }),
};

/** A file of the runtime with all that it refers to, as the published files leave out the rest. */
async function bundleOf(file: string): Promise<string> {
  const bundle = await rolldown({
    input: join(root, file),
    external: [/^node:/],
    plugins: [typesRemoved, pureInitializers(root)],
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

it('a bundle has the ops that its functions perform, and not their neighbours', async () => {
  const code = await bundleOf('runtime/ops/products/matmul.ts');
  expect(code).toContain('name: "matmul"');
  for (const other of ['conv2d', 'cummax', 'standardize']) {
    expect(code).not.toContain(`name: "${other}"`);
  }
});
