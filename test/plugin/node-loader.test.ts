import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { permission } from '../node-options.ts';
import { installed } from '../package/installed.ts';

let user: string;
const loader = 'tostatic/plugin/node';
// A compiler for the tests of this repository: users install their own.
const tsx = pathToFileURL(join(import.meta.dirname, '../../node_modules/tsx/dist/loader.mjs')).href;

beforeAll(async () => {
  user = (await installed()).project;
}, 240_000);

function run(file: string, text: string, flags: readonly string[]): string {
  const path = join(user, file);
  writeFileSync(path, text);
  return execFileSync(process.execPath, ['--no-warnings', ...flags, path], {
    encoding: 'utf8',
    cwd: user,
  });
}

const program = (types: string) => `
import { randn, relu, toStatic } from 'tostatic';
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
  const permitted = [permission, '--allow-fs-read=*'];
  const inThread = !('registerHooks' in nodeModule);

  test('captures where the inspector is not permitted', () => {
    const flags = inThread ? [...permitted, '--allow-worker'] : permitted;
    const report = JSON.parse(
      run('loaded-user.mjs', program(''), [...flags, '--enable-source-maps', '--import', loader]),
    );
    expect(report).toEqual({
      equal: [true, true],
      fallbacks: [],
      at: { file: join(user, 'loaded-user.mjs'), line: 7, column: 7 },
      line: '17:12',
      marked: true,
    });
  });

  test('captures whole training steps where the inspector is not permitted', () => {
    const flags = inThread ? [...permitted, '--allow-worker'] : permitted;
    const text = `
      import { mseLoss, nn, optim, randn, toStatic } from 'tostatic';
      const model = new nn.Sequential(new nn.Linear(3, 4), new nn.BatchNorm1d(4), new nn.Dropout(0.5));
      const optimizer = new optim.Adam(model.parameters());
      const step = toStatic((x, y) => {
        const loss = mseLoss(model.forward(x), y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      });
      for (let i = 0; i < 3; i++) step(randn([5, 3]), randn([5, 4]));
      const { graphs, translations, breaks, fallbacks, kernels } = step.stats();
      console.log(JSON.stringify({ whole: graphs === translations, breaks, fallbacks, eager: kernels.eager }));`;
    const report = JSON.parse(run('loaded-training.mjs', text, [...flags, '--import', loader]));
    expect(report).toEqual({ whole: true, breaks: [], fallbacks: [], eager: 0 });
  });

  test.runIf(inThread)('says what it needs where threads are not permitted', () => {
    const path = join(user, 'no-thread.mjs');
    const text = `
      import { ones, toStatic } from 'tostatic';
      const f = toStatic((x) => x.mul(2).sum());
      console.log(f(ones([2])).itemSync(), f.stats().graphs);`;
    writeFileSync(path, text);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...permitted, '--import', loader, path],
      { cwd: user, encoding: 'utf8' },
    );
    expect(stderr).toMatch(
      /\[TOSTATIC_NO_THREAD\] tostatic: no module is instrumented: .*--allow-worker/,
    );
    expect(stdout).toBe('4 1\n');
    expect(status).toBe(0);
  });

  test('after a loader that compiles TypeScript', () => {
    const text = program('interface Gone {\n  x: number;\n}\n').replace('(x) =>', '(x: any) =>');
    const report = JSON.parse(run('loaded-user.mts', text, ['--import', tsx, '--import', loader]));
    expect(report).toMatchObject({
      equal: [true, true],
      fallbacks: [],
      at: { file: join(user, 'loaded-user.mts'), line: 10, column: 7 },
      marked: true,
    });
  });

  test('leaves CommonJS and what is in node_modules alone', () => {
    const printed = run('loaded-user.cjs', 'console.log(String(() => module))', [
      '--import',
      loader,
    ]);
    expect(printed).toBe('() => module\n');
  });
});
