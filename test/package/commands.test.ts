/** Every command, as users get it: files that it reads beside itself lie elsewhere in the published package. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installed } from './installed.ts';

let home: string;
let tool: string;
let version: string;

const model = `
import { crossEntropy, nn, optim, randint, randn } from 'tostatic';
const model = new nn.Linear(4, 3);
const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
const loss = (x, y) => crossEntropy(model.forward(x), y);
export function step(x, y) {
  const result = loss(x, y);
  result.backward();
  optimizer.step();
  optimizer.zeroGrad();
  return result;
}
export const inputs = () => [randn([2, 4]), randint(0, 3, [2])];
export const workload = { build: () => ({ optimizer, loss, step, inputs, dispose() {} }) };
`;

const double = `
import { ones } from 'tostatic';
export const double = (x) => x.mul(2);
export const inputs = () => [ones([2])];
`;

const saving = `
import { writeFileSync } from 'node:fs';
import { memory, save, toStatic } from 'tostatic';
import { inputs, step } from './model.js';
const f = toStatic(step);
const lines = [];
const stop = memory.log((line) => lines.push(line));
for (let i = 0; i < 2; i++) f(...inputs());
stop();
writeFileSync('memory.log', lines.join('\\n'));
save(f, 'step.tostatic');
`;

const node = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [...args], { cwd: home, encoding: 'utf8', stdio: 'pipe' });

const command = (...args: readonly string[]): string => node(tool, ...args);

beforeAll(async () => {
  const { project } = await installed();
  home = mkdtempSync(join(project, 'commands-'));
  tool = join(project, 'node_modules/tostatic/dist/src/cli/main.js');
  const manifest = readFileSync(join(project, 'node_modules/tostatic/package.json'), 'utf8');
  ({ version } = JSON.parse(manifest) as { version: string });
  writeFileSync(join(home, 'model.js'), model);
  writeFileSync(join(home, 'saving.js'), saving);
  writeFileSync(join(home, 'double.js'), double);
  writeFileSync(join(home, 'script.js'), 'if (1 + 1 !== 2) throw 1;');
  node('saving.js');
}, 240_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const step = ['model.js', '--function', 'step'];

/** Per command: what it is called with, a part of what it prints, and what it writes. */
const calls: Readonly<Record<string, readonly [args: string[], printed: string, file?: string]>> = {
  init: [['init', 'made'], 'npm install && npm start', 'made/package.json'],
  trace: [['trace', ...step], 'matmul'],
  check: [['check', 'double.js'], 'as eagerly'],
  export: [['export', 'step.tostatic', '--to', 'onnx'], 'step.onnx', 'step.onnx'],
  scale: [
    ['scale', 'step.tostatic', '--mesh', 'data=2', '--out', 'scaled'],
    'run.py',
    'scaled/run.py',
  ],
  explain: [['explain', ...step, '--html', 'explain.html'], '1 subgraph', 'explain.html'],
  profile: [['profile', ...step], 'matmul'],
  compare: [
    ['compare', 'model.js', '--steps', '2', '--html', 'compare.html'],
    'full graph',
    'compare.html',
  ],
  run: [['run', 'script.js'], '"ok":true'],
  memory: [['memory', 'memory.log'], 'remaining'],
  completion: [['completion', 'bash'], 'complete'],
};

it('every command of the help is among those that are tried', () => {
  const listed = [...command('--help').matchAll(/^ {2}([a-z]+) .*(?:<|\[)/gm)].map(
    ([, name]) => name,
  );
  expect(listed.filter((name) => name !== 'help').sort()).toEqual(Object.keys(calls).sort());
});

for (const [name, [args, printed, file]] of Object.entries(calls)) {
  it(`${name} works as published`, { timeout: 120_000 }, () => {
    expect(command(...args)).toContain(printed);
    if (file) expect(existsSync(join(home, file))).toBe(true);
  });
}

it('the version is that of the package, on the command line and in new projects', () => {
  expect(command('--version').trim()).toBe(version);
  command('init', 'versioned');
  const manifest = readFileSync(join(home, 'versioned/package.json'), 'utf8');
  expect(JSON.parse(manifest)).toMatchObject({ dependencies: { tostatic: `^${version}` } });
});
