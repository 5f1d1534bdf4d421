import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
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

it('leaves compiled statements on their lines, since Bun reads no map of a plugin', async () => {
  const text = `interface Options {
  readonly size: number;
}
/** A comment. */
export class First<T> {
  private second: number = 1;

  constructor(
    readonly third: T,
  ) {}

  fourth(a: number): string {
    const fifth = \`one
  two \${a +
      1}\`;
    return (
      fifth + regexp.source
    );
  }
}
const regexp = /a\\/b\`/g;
enum Sixth { a, b }
export const seventh = (a: Options, b?: number) => { const eighth = a.size; return eighth; };
type Alias = string;
if (regexp.test('')) { ninth(Sixth.b); } else tenth<Alias>();
function ninth(a: number): void {
  throw new Error(\`\${a}\`);
}
function tenth<T>(): T | undefined { return; }
`;
  const { contents } = (await load('lines.ts', text)) as Loaded;
  for (const marker of ['class First', '(a', '`one', 'two ${', 'regexp =', 'Sixth', 'seventh =']) {
    expect([marker, rowsOf(contents, marker)[0]]).toEqual([marker, rowsOf(text, marker)[0]]);
  }
  // Columns, too, where the line contains no type before them.
  for (const marker of ['const fifth', 'const regexp', 'ninth(Sixth', 'throw new']) {
    expect([marker, placeOf(contents, marker)]).toEqual([marker, placeOf(text, marker)]);
  }
});

const rowsOf = (text: string, marker: string) =>
  text.split('\n').flatMap((line, row) => (line.includes(marker) ? [row] : []));

const placeOf = (text: string, marker: string) => {
  const [row] = rowsOf(text, marker);
  return [row, text.split('\n')[row!]!.indexOf(marker)];
};

it('leaves the meaning of compiled code as it is', async () => {
  const text = `type T = number;
export const texts: string[] = [];
const add = (a: T) => texts.push(String(a));
let a: T = 1
add(a++)
;[2, 3].forEach((each) => add(each))
label: for (const b of [4, 5]) { add(b)
  continue label
}
add(((): T => { return 6 })())
add(a /2/ 1)
const shown = \`\${'7'}
8\`
texts.push(shown)
`;
  const { contents } = (await load('meaning.ts', text)) as Loaded;
  const file = join(folder, 'meaning.mjs');
  const probe = `data:text/javascript,export const probe={$tostatic:false}`;
  writeFileSync(file, contents.replace('"tostatic/probe"', JSON.stringify(probe)));
  const { texts } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    texts: string[];
  };
  expect(texts).toEqual(['1', '2', '3', '4', '5', '6', '1', '7\n8']);
});
