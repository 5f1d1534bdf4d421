/** What the first call of a captured training step does, in counts: times of a first call depend on the machine. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { installed } from './installed.ts';

let project: string;
beforeAll(async () => {
  ({ project } = await installed());
}, 240_000);

/** Counts what the rest of a file does between `start` and `counts`. */
const counting = `
import { Session } from 'node:inspector';
const counted = { debugger: 0, scriptsRead: 0, wasmModules: 0, wasmBytes: 0, functionsMade: 0 };
const { post } = Session.prototype;
Session.prototype.post = function (method, ...rest) {
  if (method === 'Debugger.enable') counted.debugger++;
  if (method === 'Debugger.getScriptSource') counted.scriptsRead++;
  return post.call(this, method, ...rest);
};
const counts = (target, name) =>
  new Proxy(target, {
    construct(made, given, by) { counted[name]++; return Reflect.construct(made, given, by); },
    apply(made, self, given) { counted[name]++; return Reflect.apply(made, self, given); },
  });
WebAssembly.Module = new Proxy(counts(WebAssembly.Module, 'wasmModules'), {
  construct(made, given) { counted.wasmBytes += given[0].byteLength; return Reflect.construct(made, given); },
});
globalThis.Function = counts(Function, 'functionsMade');
const session = new Session();
session.connect();
const ask = (method, given) => {
  let answer;
  session.post(method, given, (_, found) => { answer = found; });
  return answer;
};
const start = () => {
  ask('Profiler.enable');
  ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
};
/** Calls of functions of the package by name. */
const calls = () => {
  const found = {};
  for (const { url, functions } of ask('Profiler.takePreciseCoverage').result) {
    if (!url.includes('/tostatic/')) continue;
    for (const { functionName, ranges: [{ count }] } of functions) {
      const name = functionName.replace(/\\$\\d+$/, '');
      if (count > 0) found[name] = (found[name] ?? 0) + count;
    }
  }
  return found;
};
`;

interface Counted {
  readonly debugger: number;
  readonly scriptsRead: number;
  readonly wasmModules: number;
  readonly wasmBytes: number;
  readonly functionsMade: number;
  readonly calls: Readonly<Record<string, number>>;
}

const training = `
import { crossEntropy, nn, optim, randint, randn, toStatic } from 'tostatic';
const model = new nn.Sequential(new nn.Linear(784, 128), new nn.ReLU(), new nn.Linear(128, 10));
const optimizer = new optim.Adam(model.parameters(), { lr: 0.001 });
const step = toStatic((x, y) => {
  const loss = crossEntropy(model.forward(x), y);
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  return loss;
});
const [x, y] = [randn([64, 784]), randint(0, 10, [64])];
`;

function run(file: string, code: string): unknown {
  writeFileSync(join(project, file), code);
  return JSON.parse(execFileSync(process.execPath, [file], { cwd: project, encoding: 'utf8' }));
}

/** From here on. */
const start = 'start(); for (const name of Object.keys(counted)) counted[name] = 0;';
const report = 'console.log(JSON.stringify({ ...counted, calls: calls() }));';

test('first call/one trace, no debugger, and each text is parsed once', () => {
  const code = `${counting}${training}${start}\nstep(x, y).itemSync();\n${report}`;
  const first = run('first-call.mjs', code) as Counted;
  expect(first).toMatchObject({ debugger: 0, functionsMade: 0 });
  // Products, loss and its gradient, sums, fused ops, updates: each has a module of what it runs.
  expect(first.wasmModules).toBeLessThanOrEqual(14);
  expect(first.wasmBytes).toBeLessThan(25_000);
  // A final plan is searched for in the background, later.
  const { traceOnce, planInOrder, parseScript, parsePrinted, functionAt } = first.calls;
  const { lowerFunction, lowerAnalysed, lowerConstruction, analyzeScript } = first.calls;
  expect(traceOnce).toBe(1);
  expect(planInOrder).toBeLessThanOrEqual(2);
  // The user's file and function: those of layers and optimizers are published in lowered form.
  expect({ parseScript, lowerFunction, lowerAnalysed }).toEqual({
    parseScript: 1,
    lowerFunction: 1,
    lowerAnalysed: 1,
  });
  expect([lowerConstruction, analyzeScript]).toEqual([undefined, 1]);
  expect(functionAt).toBeGreaterThan(10);
  expect(parsePrinted ?? 0).toBe(0);
  // Predictions are made when they are read.
  expect(first.calls.countedExecutable ?? 0).toBe(0);
});

test('later calls/compile nothing more', () => {
  const code = `${counting}${training}await step(x, y).item();\n${start}
for (let i = 0; i < 5; i++) await step(x, y).item();\n${report}`;
  const later = run('later-calls.mjs', code) as Counted;
  expect(later).toMatchObject({ debugger: 0, functionsMade: 0, wasmModules: 0 });
  const { traceOnce, planInOrder, parseScript } = later.calls;
  expect({ traceOnce, planInOrder, parseScript }).toEqual({});
});

test('a function of this package that is not traced/its script is neither read nor parsed', () => {
  const code = `${counting}
import { memory, tensor, toStatic } from 'tostatic';
const f = toStatic((x) => {
  const y = x.mul(2);
  return memory.stats('cpu').allocated > 0 ? y.add(1) : y;
});
const x = tensor([1]);
${start}
f(x).itemSync();
const { breaks } = f.stats();
console.log(JSON.stringify({ ...counted, breaks, calls: calls() }));`;
  const found = run('opaque.mjs', code) as Counted & { readonly breaks: unknown };
  expect(found).toMatchObject({ scriptsRead: 0 });
  expect(found.breaks).toMatchObject([{ reason: 'framework-call' }]);
  expect(found.calls.parseScript).toBe(1);
});

/** The scope of a function of the file that runs: from the file where the engine's text is the same. */
const captured = (text: string, file: string): Counted & { readonly value: number } =>
  run(
    file,
    `${counting}
import { scopeOf, tensor, toStatic } from 'tostatic';
${text}
const value = toStatic(f)(tensor([2])).itemSync();
const { at, names, route } = scopeOf(f);
console.log(JSON.stringify({ ...counted, value, at, names, route }));`,
  ) as Counted & { readonly value: number };

test('scripts/a function of a file that is running is read from the file', () => {
  const text = '\nconst scale = 3;\nconst f = (x) => x.mul(scale);';
  const found = captured(text, 'script-file.mjs');
  const line = `${counting}\nimport '';\n${text}`.split('\n').length;
  expect(found).toMatchObject({ debugger: 0, value: 6, route: 'inspector', names: ['scale'] });
  expect(found).toMatchObject({ at: { file: join(project, 'script-file.mjs'), line } });
});

test('scripts/a variable that changes is read live, which needs the debugger', () => {
  const text = 'let scale = 1;\nconst f = (x) => x.mul(scale);\nscale = 3;';
  expect(captured(text, 'script-let.mjs')).toMatchObject({ debugger: 1, value: 6 });
});

test('scripts/functions and namespaces of this package that are imported are read without the debugger', () => {
  const text = `
import { mul, nn, optim } from 'tostatic';
const f = (x) => (optim === undefined ? x : mul(x, nn.Linear === undefined ? 2 : 3));`;
  expect(captured(text, 'script-import.mjs')).toMatchObject({ debugger: 0, value: 6 });
});

test('scripts/what a module of the user exports may change, and is read live', () => {
  writeFileSync(
    join(project, 'exports.mjs'),
    'export let scale = 2;\nexport const change = () => { scale = 3 };',
  );
  const text = `
import { change, scale } from './exports.mjs';
const f = (x) => x.mul(scale);
change();`;
  expect(captured(text, 'script-live.mjs')).toMatchObject({ debugger: 1, value: 6 });
});

test('scripts/a text with a source map is asked of the debugger', () => {
  const text = 'const scale = 3;\nconst f = (x) => x.mul(scale);\n//# sourceMappingURL=none.map\n';
  expect(captured(text, 'script-map.mjs')).toMatchObject({ debugger: 1, value: 6 });
});

test('scripts/a file that was changed after it was loaded is not read', () => {
  const text = `
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
const scale = 3;
const f = (x) => x.mul(scale);
const own = fileURLToPath(import.meta.url);
writeFileSync(own, readFileSync(own, 'utf8').replace('scale = 3', 'scale = 4'));`;
  expect(captured(text, 'script-changed.mjs')).toMatchObject({ debugger: 1, value: 6 });
});

test('scripts/a function of another file that has run is asked of the debugger', () => {
  writeFileSync(
    join(project, 'other.mjs'),
    'const scale = 3;\nexport const f = (x) => x.mul(scale);',
  );
  const found = captured("import { f } from './other.mjs';", 'script-other.mjs');
  expect(found).toMatchObject({ debugger: 1, value: 6, at: { file: join(project, 'other.mjs') } });
});

test('scripts/CommonJS', () => {
  const text = `
let debugged = 0;
const { Session } = require('node:inspector');
const { post } = Session.prototype;
Session.prototype.post = function (method, ...rest) {
  if (method === 'Debugger.enable') debugged++;
  return post.call(this, method, ...rest);
};
const scale = 3;
import('tostatic').then(({ tensor, toStatic }) => {
  const f = toStatic((x) => x.mul(scale));
  console.log(JSON.stringify({ debugged, value: f(tensor([2])).itemSync(), at: debugged }));
});`;
  expect(run('script.cjs', text)).toMatchObject({ value: 6, debugged: 0 });
});

test('scripts/errors name the place in the file', () => {
  const text = `
import { tensor, toStatic } from 'tostatic';
const wrong = 3;
const f = toStatic((x) => {
  return x.reshape([wrong]);
});
try {
  f(tensor([2]));
} catch (error) {
  console.log(JSON.stringify(error.message));
}`;
  expect(run('script-error.mjs', text)).toContain('script-error.mjs:5:');
});
