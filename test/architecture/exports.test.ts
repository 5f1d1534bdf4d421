/** What a file exports, another file imports; everything else is the file's own. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');

const texts = new Map(
  ['runtime', 'src', 'test', 'build', 'bench', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?[tj]s$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(folder, name))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
  ),
);

/** Files whose exports users import, or Node does (hooks of module loading). */
const entries = [
  ...Object.values(manifest.exports).flatMap((conditions) => Object.values(conditions)),
  './dist/src/plugin/node-hooks.js',
].map((file) => file.replace(/^\.\/dist\/(.*?)(?:\.d\.ts|\.js)$/, '$1.ts'));

/** They contain the text of another module, which exports. */
const writers = ['src/cli/init/templates.ts', 'src/export/module/emit/'];

/** The files that name each file in an import of any form. */
function importersOf(): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of texts) {
    for (const [, path] of text.matchAll(/['"`](\.{1,2}\/[^'"`\n]*|tostatic)['"`]/g)) {
      const own = path === 'tostatic' ? 'src/index.ts' : undefined;
      const target = own ?? relative(root, join(root, dirname(file), path!));
      importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  return importers;
}

it('every export is used by another file', () => {
  const importers = importersOf();
  const unused: string[] = [];
  let exported = 0;
  for (const [file, text] of texts) {
    if (!/^(runtime|src)\/.*(?<!\.d)\.ts$/.test(file) || entries.includes(file)) continue;
    if (writers.some((writer) => file.startsWith(writer))) continue;
    const users = [...(importers.get(file) ?? [])].map((user) => texts.get(user)!);
    const declared = text.matchAll(
      /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm,
    );
    for (const [, name] of declared) {
      exported++;
      const use = new RegExp(`\\b${name}\\b|\\b(?:import|export) \\*`);
      if (!users.some((user) => use.test(user))) unused.push(`${file}: ${name}`);
    }
  }
  expect(exported).toBeGreaterThan(4000);
  expect(unused).toEqual([]);
});
