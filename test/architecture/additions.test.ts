/** docs/contributing.md shows five additions: all are made in a copy of the sources, and work there. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { expect, it } from 'vitest';
import * as ops from '../../runtime/ops/index.ts';
import { isTracedApi } from '../../src/3-trace/builtins/api.ts';
import { CompiledSources, withCompiledImports } from '../compiled-sources.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/contributing.md'), 'utf8');

it('captured code may call every public function of tensors', () => {
  const functions = Object.entries(ops).filter(([, value]) => typeof value === 'function');
  expect(functions.length).toBeGreaterThan(300);
  const untraced = functions.filter(([, fn]) => !isTracedApi(fn as () => unknown));
  expect(untraced.map(([name]) => name)).toEqual([]);
});

it('every file that the pages for contributors name exists', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8') + page;
  // Those of the additions are in the headings of their code, and beside it.
  const shown = /relu-of-abs/;
  const paths = [...text.matchAll(/`((?:src|runtime|test|docs|build)\/[\w./-]+\.\w+)`/g)];
  expect(paths.length).toBeGreaterThan(10);
  for (const [, path] of paths) {
    if (!shown.test(path!)) expect(readFileSync(join(root, path!), 'utf8')).not.toBe('');
  }
});

it('a folder that additions go into has room for one more file', () => {
  const foldersIn = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => `${folder}${name}/`);
  const folders = [
    ...foldersIn('runtime/ops/'),
    'src/5-optimize/',
    'test/optimize/fixtures/',
    'src/3-trace/builtins/',
  ];
  const full = folders.filter((folder) => {
    const files = readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts'));
    return files.length >= 25;
  });
  expect(full).toEqual([]);
});

/** The text of a list with the lines added that a `diff` shows, which begins with the line before them. */
function withLines(text: string, diff: string): string {
  const lines = diff.trimEnd().split('\n');
  const [before, ...added] = lines.map((line) => `${line.slice(1)}\n`);
  expect(
    lines.map(([mark]) => mark),
    diff,
  ).toEqual([' ', ...added.map(() => '+')]);
  expect(text.split(before!), `${before} is there once`).toHaveLength(2);
  return text.replace(before!, [before, ...added].join(''));
}

/** The files of the page, by path: those that it adds, and lists with what it adds to them. */
function filesOfPage(): Map<string, string> {
  const files = new Map<string, string>();
  for (const [, kind, path, code] of page.matchAll(/^```(ts|diff) (\S+)\n(.*?)^```/gms)) {
    const known = () => files.get(path!) ?? readFileSync(join(root, path!), 'utf8');
    files.set(path!, kind === 'ts' ? code! : withLines(known(), code!));
  }
  return files;
}

const uses = `
import { deviceGuard, init, load, ones, randn, save, squareplus, tensor, toStatic } from './src/index.js';
import assert from 'node:assert/strict';

const x = randn([5, 4]).requiresGrad_();
const eager = squareplus(x);
eager.sum().backward();
const gradient = [...x.grad.dataSync()];
x.grad = null;
const op = toStatic((x) => squareplus(x), { fullGraph: true });
const result = op(x);
assert.deepEqual([...result.dataSync()], [...eager.dataSync()]);
result.sum().backward();
assert.deepEqual([...x.grad.dataSync()], gradient);
const loaded = await load(await save(op));
assert.deepEqual([...loaded(x.detach()).dataSync()], [...eager.dataSync()]);

await init('zero');
deviceGuard('zero', () => {
  const weight = ones([5, 4]).requiresGrad_();
  const loss = toStatic((x) => x.exp().matmul(x.t()).sum(), { fullGraph: true })(weight);
  loss.backward();
  assert.equal(loss.itemSync(), 0);
  assert.equal(weight.grad.device.name, 'zero');
});

const distance = toStatic((x) => x.abs().relu().mul(2), { memory: { order: false } });
assert.deepEqual([...distance(tensor([-1, 0, NaN])).dataSync()], [2, 0, NaN]);
await distance.ready();
const { passes, forward } = distance.programs()[0].stages;
assert.equal(passes.reluOfAbs.applied, 1);
assert.deepEqual(forward.ops.map(({ op }) => op.name), ['abs', 'mulScalar']);

const builtin = toStatic((x, text) => x.mul(URL.canParse(text) ? 2 : 3), { fullGraph: true });
assert.equal(builtin(ones([]), 'a:b').itemSync(), 2);
assert.equal(builtin(ones([]), '/b').itemSync(), 3);

const later = toStatic((x) => (queueMicrotask(() => {}), x.mul(2)));
later(ones([2]));
assert.deepEqual(later.stats().breaks.map(({ reason }) => reason), ['later-call']);
console.log('all work');
`;

it('an op, a device, a pass, a builtin and a reason for a break need what the page shows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'additions-'));
  const sources = process.env.TOSTATIC_COMPILED_SOURCES ?? new CompiledSources().folder;
  cpSync(sources, folder, { recursive: true, verbatimSymlinks: true });
  const files = filesOfPage();
  expect(files.size).toBe(10);
  for (const [path, text] of files) {
    const file = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(file), { recursive: true });
    const { code } = transformSync(text, { loader: 'ts', format: 'esm' });
    writeFileSync(file, withCompiledImports(code));
  }
  writeFileSync(join(folder, 'uses.js'), uses);
  const printed = execFileSync(process.execPath, ['uses.js'], { cwd: folder, encoding: 'utf8' });
  expect(printed).toBe('all work\n');
});
