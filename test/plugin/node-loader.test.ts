import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
// Inside node_modules, so that what is built finds its dependencies as an installed package does.
const home = join(root, 'node_modules/.tostatic-plugin-test');
const built = join(home, 'dist');
const loader = pathToFileURL(join(built, 'src/plugin/node-loader.js')).href;
const api = pathToFileURL(join(built, 'src/index.js')).href;
const user = mkdtempSync(join(tmpdir(), 'tostatic-loader-'));

function run(file: string, text: string, flags: readonly string[]): string {
  const path = join(user, file);
  writeFileSync(path, text);
  return execFileSync(process.execPath, ['--no-warnings', ...flags, path], {
    encoding: 'utf8',
    cwd: root,
  });
}

const program = (types: string) => `
import { randn, relu, toStatic } from ${JSON.stringify(api)};
${types}
let scale = 2;
export const step = (x) => {
  const y = relu(x).mul(scale);
  if (Date.now() < 0) return x;
  return y.sum();
};
const f = toStatic(step), x = randn([2, 3]);
const equal = [f(x).itemSync() === step(x).itemSync()];
scale = 3;
equal.push(f(x).itemSync() === step(x).itemSync());
const { fallbacks, breaks } = f.stats();
const at = breaks[0].at;
let line = '';
try { null.missing } catch (error) { line = /user\\.\\w+:(\\d+:\\d+)/.exec(error.stack)?.[1] }
console.log(JSON.stringify({ equal, fallbacks, at, line, marked: String(step).includes('.hit(') }));
`;

describe('node --import tostatic/plugin/node', () => {
  beforeAll(() => {
    mkdirSync(home, { recursive: true });
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const project = join(root, 'tsconfig.build.json');
    spawnSync(process.execPath, [compiler, '-p', project, '--outDir', built]);
    expect(existsSync(join(built, 'src/plugin/node-hooks.js'))).toBe(true);
  }, 120_000);
  afterAll(() => {
    rmSync(home, { recursive: true, force: true });
    rmSync(user, { recursive: true, force: true });
  });

  test('captures where the inspector is not permitted', () => {
    // Named so until Node 22.
    const stable = process.allowedNodeEnvironmentFlags.has('--permission');
    const permission = stable ? '--permission' : '--experimental-permission';
    const flags = [permission, '--allow-fs-read=*', '--allow-worker'];
    const report = JSON.parse(
      run('user.mjs', program(''), [...flags, '--enable-source-maps', '--import', loader]),
    );
    expect(report).toEqual({
      equal: [true, true],
      fallbacks: [],
      at: { file: join(user, 'user.mjs'), line: 7, column: 7 },
      line: '17:12',
      marked: true,
    });
  });

  test('after a loader that compiles TypeScript', () => {
    const text = program('interface Gone {\n  x: number;\n}\n').replace('(x) =>', '(x: any) =>');
    const report = JSON.parse(run('user.mts', text, ['--import', 'tsx', '--import', loader]));
    expect(report).toMatchObject({
      equal: [true, true],
      fallbacks: [],
      at: { file: join(user, 'user.mts'), line: 10, column: 7 },
      marked: true,
    });
  });

  test('leaves CommonJS and what is in node_modules alone', () => {
    const printed = run('user.cjs', 'console.log(String(() => module))', ['--import', loader]);
    expect(printed).toBe('() => module\n');
  });
});
