/** Mistakes in what a command is given are named errors with the user's place. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DataError } from '../../runtime/errors/errors.ts';
import { compareFile } from '../../src/cli/compare/compare-file.ts';
import { loadFunction } from '../../src/cli/files/load-function.ts';
import { errorText } from '../../src/cli/files/report-error.ts';
import { writeOutput } from '../../src/cli/files/write-output.ts';
import { traceFile } from '../../src/cli/trace-file.ts';
import { packageVersion } from '../../src/options/package-version.ts';
import { asShipped } from '../package/as-shipped.ts';
import { withSources } from '../source-process.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let node: readonly string[];

beforeAll(async () => {
  node = await asShipped();
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cli-'));
  const files: Readonly<Record<string, string>> = {
    'no-inputs.mjs': '// a comment\nexport function forward(x) {\n  return x.mul(2);\n}\n',
    'no-array.mjs': 'export const f = (x) => x;\nexport const inputs = () => 3;\n',
    'bad-import.mjs': "import './gone.mjs';\nexport const f = () => 1;\n",
    'throws.mjs':
      'function fail() {\n  throw new RangeError("too large");\n}\nexport const f = () => fail();\n',
    'syntax.mjs': 'export const f = () => {;\n',
    'value.mjs': '// a comment\nexport const step = 3;\nexport const inputs = () => [];\n',
    'empty.mjs': 'const step = 3;\n',
    'class.mjs':
      'export class Net {\n  forward(x) {\n    return x;\n  }\n}\nexport const inputs = () => [];\n',
    'module.mjs': `import { nn } from '${join(root, 'src/index.ts')}';\nexport const model = new nn.ReLU();\n`,
    'bad-name.mjs': `import { join } from 'node:path';\nimport { parse, joinn } from 'node:path';\nexport const f = () => joinn;\n`,
    'late.mjs': 'export const f = (x) => x + 1;\nexport const inputs = async () => [2];\n',
    'later.mjs': 'export const f = (x) => x + 1;\nexport const inputs = async () => 2;\n',
    'fails.mjs': 'export const f = () => {\n  throw new RangeError("too large");\n};\n',
    'async.mjs': 'export const f = async () => 1;\n',
    'typed.ts': 'export const f = (x: number => x;\n',
    'shapes.mjs': `import { ones } from '${join(root, 'src/index.ts')}';\nexport const f = (x) => x.matmul(x);\nexport const inputs = () => [ones([2, 3])];\n`,
    'generator.mjs': `import { ones } from '${join(root, 'src/index.ts')}';\nexport function* f(x) {\n  for (;;) yield (x = x.mul(2));\n}\nexport const inputs = () => [ones([2])];\n`,
    'two.mjs': 'export const a = () => 1;\nexport const b = () => 2;\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

function tostatic(...args: readonly string[]) {
  const command = [...node, join(root, 'src/cli/main.ts'), ...args];
  return spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
}

/** File, what stands in the error, and further words of the command. */
const mistakes: Readonly<Record<string, readonly [string, RegExp, ...string[]]>> = {
  'a module without inputs()': [
    'no-inputs.mjs',
    /^ArgumentError: .*nothing says what to call forward with[\s\S]*no-inputs\.mjs:2:17\n[\s\S]*export const inputs/,
  ],
  'inputs() that is no array': [
    'no-array.mjs',
    /^ArgumentError: .*inputs\(\)[\s\S]*no-array\.mjs:2:14/,
  ],
  'a missing file': ['gone.mjs', /^DataError: module not found[\s\S]*gone\.mjs\n/],
  'a missing import': [
    'bad-import.mjs',
    /^DataError: an import of the module[\s\S]*bad-import\.mjs:1:1/,
  ],
  'a wrong export': [
    'two.mjs',
    /^ArgumentError: .*there is no export c\n[\s\S]*exports a \(function\), b \(function\)[\s\S]*one of a, b/,
    '--function',
    'c',
  ],
  'several functions': [
    'two.mjs',
    /^ArgumentError: .*several functions[\s\S]*one of a, b[\s\S]*two\.mjs:1:14/,
  ],
  'an export that is not a function': [
    'value.mjs',
    /^ArgumentError: .*no function is exported[\s\S]*step \(number\)[\s\S]*value\.mjs:2:14/,
  ],
  'an export that is named and not a function': [
    'value.mjs',
    /^ArgumentError: .*step is not a function[\s\S]*value\.mjs:2:14/,
    '--function',
    'step',
  ],
  'a module without exports': [
    'empty.mjs',
    /^ArgumentError: .*no function is exported[\s\S]*no exports[\s\S]*empty\.mjs:1:1/,
  ],
  'a class': [
    'class.mjs',
    /^ArgumentError: .*no function is exported\n[\s\S]*exports Net \(a class\)[\s\S]*class\.mjs:1:14[\s\S]*new Net\(…\)/,
  ],
  'a class by its name': [
    'class.mjs',
    /^ArgumentError: .*Net is not a function\n[\s\S]*Net \(a class\)/,
    '--function',
    'Net',
  ],
  'asynchronous inputs() that are no array': [
    'later.mjs',
    /^ArgumentError: .*inputs\(\) does not return[\s\S]*type number[\s\S]*later\.mjs:2:14/,
  ],
  'a folder': ['.', /^DataError: not a module[\s\S]*the folder /],
  'an error of the module': [
    'throws.mjs',
    /^RangeError: too large\n {4}at .*throws\.mjs:2:\d+\)?\n/,
  ],
};

/** What the command prints of the error of running a module's function once. */
async function printed(file: string, name?: string): Promise<string> {
  try {
    const { fn, inputs } = await loadFunction(join(folder, file), name);
    fn(...((await inputs()) as never[]));
  } catch (error) {
    return errorText(error);
  }
  return '';
}

it.each(Object.entries(mistakes))('%s', async (_name, [file, message, _option, name]) => {
  expect(await printed(file, name)).toMatch(message);
});

it('a module of layers is no function: the error says how to make one', { timeout: 60_000 }, () => {
  const { stderr } = tostatic('explain', join(folder, 'module.mjs'));
  expect(stderr).toMatch(
    /^ArgumentError: .*no function[\s\S]*model \(a module\)[\s\S]*\(x\) => model\.forward\(x\)/,
  );
});

it('inputs() may be asynchronous', async () => {
  const { inputs } = await loadFunction(join(folder, 'late.mjs'), undefined);
  expect(await inputs()).toEqual([2]);
});

it('a mistake in TypeScript that a loader finds has its place', { timeout: 60_000 }, () => {
  const command = [...withSources, join(root, 'src/cli/main.ts'), 'explain'];
  const args = [...command, join(folder, 'typed.ts')];
  const { stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(stderr).toMatch(/^DataError: the module could not be parsed\n[\s\S]*typed\.ts:1:\d+\n/);
  expect(stderr).not.toMatch(/^ +at .*esbuild/m);
});

it('a name that an import does not have is said with its line', { timeout: 60_000 }, () => {
  const { stderr } = tostatic('explain', join(folder, 'bad-name.mjs'));
  expect(stderr).toMatch(
    /^DataError: an import is not exported by 'node:path'\n {2}given: {4}joinn\n[\s\S]*bad-name\.mjs:2:17\n/,
  );
});

it('compare says once what fails in every mode', { timeout: 120_000 }, () => {
  const { stderr, status } = tostatic('compare', join(folder, 'fails.mjs'));
  expect(stderr).toContain('compare: every mode failed');
  expect(stderr.match(/RangeError: too large/g)).toHaveLength(1);
  expect(stderr).not.toMatch(/predicted-peak|src\/vm|src\/lab/);
  expect(status).toBe(1);
});

it('compare rejects a step that returns a promise', { timeout: 120_000 }, () => {
  const { stderr } = tostatic('compare', join(folder, 'async.mjs'), '--modes', 'static');
  expect(stderr).toContain('compare: the step is asynchronous');
});

it('check compares what is thrown, and says that it is', { timeout: 240_000 }, () => {
  const file = join(folder, 'shapes.mjs');
  const { stdout, status } = tostatic('check', file, '--modes', 'default,fullGraph');
  expect(stdout).toMatch(
    /^3 of 3 calls throw ShapeError: matmul: the inner dimensions don't agree\n/,
  );
  expect(stdout.match(/as eagerly; nothing checked: /g)).toHaveLength(2);
  expect(stdout).not.toContain('DIFFERENT');
  expect(status).toBe(0);
});

it('a log without allocations says so', { timeout: 60_000 }, () => {
  const { stdout } = tostatic('memory', join(folder, 'late.mjs'));
  expect(stdout).toContain('no line is an allocation or a free');
});

it('the command prints a syntax error with its place, without a stack of its own', {
  timeout: 60_000,
}, () => {
  const { status, stderr } = tostatic('explain', join(folder, 'syntax.mjs'));
  expect(stderr).toMatch(/^DataError: the module could not be parsed[\s\S]*syntax\.mjs:[12]:1\n/);
  expect(stderr).not.toMatch(/commander|node:internal|src\/cli/);
  expect(status).toBe(1);
});

it('an output that cannot be written is a named error', () => {
  const file = join(folder, 'none', 'page.html');
  const attempt = () => writeOutput(file, '');
  expect(attempt).toThrow(DataError);
  expect(attempt).toThrow(/could not be written[\s\S]*none\/page\.html: ENOENT/);
});

it('compare rejects a module without a step before it starts processes', async () => {
  const options = { device: 'cpu', steps: '1', size: 'reduced' };
  const attempt = compareFile(join(folder, 'two.mjs'), options);
  await expect(attempt).rejects.toThrow(/several functions are exported[\s\S]*--function a/);
});

it('trace says that there is nothing to print', async () => {
  const attempt = traceFile(join(folder, 'late.mjs'), { dump: 'program,plan' });
  await expect(attempt).rejects.toThrow(/no program was made[\s\S]*f of .*late\.mjs/);
});

it('a reader of the output who has read enough ends the command', { timeout: 60_000 }, () => {
  const words = [process.execPath, ...node, join(root, 'src/cli/main.ts'), 'memory', '-', '--json'];
  const script = `sleep 1 | ${words.map((word) => `'${word}'`).join(' ')} | true; exit "\${PIPESTATUS[1]}"`;
  const { status, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});

it('explain and trace ask a generator without end for some values', { timeout: 60_000 }, () => {
  const file = join(folder, 'generator.mjs');
  const explained = tostatic('explain', file).stdout;
  expect(explained).toMatch(/^f: 2 calls, [1-9]\d* traces?, [1-9]\d* subgraph/);
  expect(explained).toContain('graph break: the generator yields a value');
  expect(tostatic('trace', file, '--dump', 'program').stdout).toContain('mulScalar');
});

it('the version, help with examples, and completion', { timeout: 60_000 }, () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(packageVersion).toBe(version);
  expect(tostatic('explain', '--help').stdout).toContain('$ tostatic explain model.js');
  const { stdout } = tostatic('completion', 'bash');
  for (const word of ['explain', 'init', '--guards', '--version']) expect(stdout).toContain(word);
  expect(stdout).not.toContain('check-mode');
  expect(spawnSync('bash', ['-n'], { input: stdout }).status).toBe(0);
});
