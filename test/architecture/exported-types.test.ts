import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const runtime = new URL('../../runtime/', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, runtime), 'utf8');

/** Where the public names of a folder's files are listed. */
const lists: Readonly<Record<string, string>> = {
  ops: 'ops/index.ts',
  nn: 'nn/index.ts',
  optim: 'optim/index.ts',
  distributions: 'distributions/index.ts',
};

/** Named in signatures that only the library itself sees. */
const internal = [
  ...['Region', 'Pair', 'ConvSizes', 'MomentGroup', 'Correction', 'MomentumGroup'],
  'QuantizationCode',
];

const namesOf = (text: string, kinds: string): string[] =>
  Array.from(text.matchAll(new RegExp(`^export (?:${kinds}) (\\w+)`, 'gm')), ([, name]) => name!);

it.each(Object.entries(lists))(
  'types beside public functions of %s are exported with them',
  (folder, list) => {
    const listed = new Set(textOf(list).match(/\w+/g));
    const names = readdirSync(new URL(`${folder}/`, runtime), {
      recursive: true,
      encoding: 'utf8',
    });
    const missing = names.flatMap((file) => {
      if (!file.endsWith('.ts')) return [];
      const text = textOf(`${folder}/${file}`);
      const values = namesOf(text, 'function|const|class|abstract class');
      if (file === 'index.ts' || !values.some((name) => listed.has(name))) return [];
      const types = namesOf(text, 'interface|type');
      return types.filter((name) => !listed.has(name) && !internal.includes(name));
    });
    expect(missing).toEqual([]);
  },
);
