import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const entry = fixture('with-inspector.ts');
const folder = mkdtempSync(join(tmpdir(), 'tostatic-capture-'));
const bundle = join(folder, 'capture.mjs');

// Node runs no TypeScript by itself, and a loader would change how the fixtures are loaded.
beforeAll(async () => {
  await build({
    configFile: false,
    logLevel: 'silent',
    publicDir: false,
    ssr: { noExternal: true },
    build: {
      ssr: entry,
      outDir: folder,
      minify: false,
      rollupOptions: { output: { entryFileNames: 'capture.mjs' } },
    },
  });
}, 120_000); // other test files share the machine
afterAll(() => rmSync(folder, { recursive: true }));

const node = (...args: string[]): Record<string, unknown> =>
  JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 50_000 }));

const place = (file: string) => {
  const lines = readFileSync(file, 'utf8').split('\n');
  const line = lines.findIndex((text) => /^(export )?function target/.test(text)) + 1;
  return { file, line };
};

test('environments/plain ESM', () => {
  const file = fixture('esm.mjs');
  expect(node(file, bundle)).toMatchObject({
    ran: 0,
    counter: 3,
    strict: true,
    import: true,
    constant: ['fixed'],
    missing: false,
    position: place(file),
    file,
  });
});

test('environments/functions of one module share a way into it, where they use nothing else', () => {
  expect(node(fixture('module-functions.mjs'), bundle)).toEqual({
    ran: 0,
    probed: ['first', 'inner', 'self'],
    counters: [42, 42, 42],
    fixed: 'fixed',
    hidden: 'changed',
    local: 7,
    self: true,
  });
});

test('environments/CommonJS', () => {
  const file = fixture('common.cjs');
  expect(node(file, bundle)).toMatchObject({
    ran: 0,
    counter: 3,
    strict: false,
    import: true,
    constant: ['fixed', 'join'],
    missing: false,
    position: place(file),
    file,
  });
});

test('environments/TypeScript through tsx', () => {
  const file = fixture('typed.ts');
  expect(node('--import', 'tsx', file)).toMatchObject({
    ran: 0,
    counter: 3,
    import: true,
    constant: ['fixed'],
    missing: false,
    position: place(file),
    file,
    line: 'export function target(x: unknown = ran++, y?: Vanishes) {',
  });
});

test('environments/worker thread', () => {
  expect(node(fixture('worker.mjs'), bundle)).toMatchObject({ ran: 0, counter: 3, import: true });
});

test('environments/a function of another realm', () => {
  expect(node(fixture('realm.mjs'), bundle)).toEqual({ q: 5, ran: 0, names: ['ran'] });
});

test('environments/captured functions are collected', () => {
  expect(node(fixture('collect.mjs'), bundle)).toEqual({ alive: 0, of: 15 });
});

test('environments/without permission for the inspector, functions of globals only', () => {
  const code = `import(${JSON.stringify(bundle)}).then(({ captureFunction }) => {
    let outer = 1; const f = (x) => Math.sqrt(x), g = () => outer++;
    console.log(JSON.stringify({ f: captureFunction(f).kind, g: captureFunction(g).reason }));
  })`;
  // Named so until Node 22.
  const stable = process.allowedNodeEnvironmentFlags.has('--permission');
  const permission = stable ? '--permission' : '--experimental-permission';
  const flags = [permission, '--allow-fs-read=*', '--no-warnings'];
  expect(node(...flags, '-e', code)).toEqual({ f: 'arrow', g: 'no-scope' });
});
