/** Modules that the published package's command writes: in folders and pages that have nothing else. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConvNet } from '../../examples/workloads/conv-net.ts';
import { Mlp } from '../../examples/workloads/mlp.ts';
import {
  crossEntropy,
  loadProgram,
  noGrad,
  optim,
  rand,
  randint,
  save,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { postedByPage } from '../browser-page.ts';
import { hasRelaxedSimd } from '../node-options.ts';
import { installed } from './installed.ts';

const full = { fullGraph: true } as const;

/** A module as the command has written it, and the results that it must have. */
interface Made {
  readonly folder: string;
  readonly expected: readonly number[];
  /** kB after gzip, without the weights. */
  readonly kilobytes: number;
}

/** The most kB that each module may have after gzip, without its weights. */
const programs: Readonly<Record<string, readonly [make: () => Mlp | ConvNet, kilobytes: number]>> =
  {
    'the MLP for digits': [() => new Mlp(64), 7],
    'the convolutional network for digits': [() => new ConvNet(4), 13],
  };
const trainings: typeof programs = {
  'a training step of the MLP': [() => new Mlp(64), 13],
  'a training step of the convolutional network': [() => new ConvNet(4), 23],
};

const made = new Map<string, Made>();
const folders: string[] = [];

/** The inputs of the module's calls, as a script. */
const inputsText = (calls: readonly (readonly Tensor[])[]): string => {
  const arrays = calls.map((tensors) =>
    tensors.map((each) => `${each.dataSync().constructor.name}.of(${each.dataSync().join()})`),
  );
  return `export const calls = [${arrays.map((each) => `[${each.join()}]`).join()}];`;
};

const runText = `import { instantiate } from './model.js';
import { calls } from './calls.js';
export async function results() {
  const model = await instantiate({ seed: 5 });
  return calls.flatMap((call) => [...model.run(...call).data]);
}`;

async function make(
  name: string,
  file: Uint8Array,
  calls: readonly (readonly Tensor[])[],
  expected: readonly number[],
): Promise<void> {
  const { project } = await installed();
  const home = mkdtempSync(join(project, 'modules-'));
  // Nothing above this folder has packages.
  const folder = mkdtempSync(join(tmpdir(), 'exported-module-'));
  folders.push(home, folder);
  writeFileSync(join(home, 'model.tostatic'), file);
  const tool = join(project, 'node_modules/tostatic/dist/src/cli/main.js');
  const options = { cwd: home, encoding: 'utf8', stdio: 'pipe' } as const;
  const args = [tool, 'export', 'model.tostatic', '--to', 'module', '--external-data'];
  const printed = execFileSync(process.execPath, args, options);
  expect(printed).toMatch(/model\.mjs {2}an ES module without imports/);
  const code = readFileSync(join(home, 'model.mjs'), 'utf8');
  expect(code).not.toMatch(/^\s*import\b/m);
  // Files of pages are .js here, and Node takes them for modules by the manifest.
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'model.js'), code);
  cpSync(join(home, 'model.bin'), join(folder, 'model.bin'));
  writeFileSync(join(folder, 'calls.js'), inputsText(calls));
  writeFileSync(join(folder, 'results.js'), runText);
  const kilobytes = gzipSync(code, { level: 9 }).length / 1e3;
  made.set(name, { folder, expected, kilobytes });
}

beforeAll(async () => {
  for (const [name, [model]] of Object.entries(programs)) {
    seed(1);
    const network = model();
    network.eval();
    const predict = toStatic((images: Tensor) => network.forward(images), full);
    const images = rand([2, 1, 28, 28]);
    const expected = noGrad(() => [...predict(images).dataSync()]);
    await make(name, await save(predict), [[images]], expected);
  }
  for (const [name, [model]] of Object.entries(trainings)) {
    seed(1);
    const network = model();
    const optimizer = new optim.Adam(network.parameters(), { lr: 0.01 });
    const step = toStatic((images: Tensor, labels: Tensor) => {
      const loss = crossEntropy(network.forward(images), labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    }, full);
    const batches = Array.from({ length: 8 }, () => [rand([4, 1, 28, 28]), randint(0, 10, [4])]);
    for (const batch of batches.slice(0, 3)) step(...(batch as [Tensor, Tensor]));
    const file = await save(step);
    const loaded = await loadProgram(file);
    seed(5);
    const calls = batches.slice(3);
    const expected = calls.map((batch) => (loaded(...batch) as Tensor).itemSync());
    await make(name, file, calls, expected);
  }
}, 240_000);
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const all = { ...programs, ...trainings };

describe.each(Object.keys(all))('%s', (name) => {
  it('has few bytes', () => {
    const { kilobytes } = made.get(name)!;
    // Kernels of engines that fuse multiply-add are a little larger.
    const most = all[name]![1] * (hasRelaxedSimd ? 1.02 : 1);
    expect(kilobytes, `${kilobytes} kB`).toBeLessThanOrEqual(most);
  });

  it('runs in a folder without packages, to the bit', () => {
    const { folder, expected } = made.get(name)!;
    const script = `import { results } from './results.js';
console.log(JSON.stringify(await results()));`;
    writeFileSync(join(folder, 'main.js'), script);
    const options = { cwd: folder, encoding: 'utf8' } as const;
    const printed = execFileSync(process.execPath, ['main.js'], options);
    expect(JSON.parse(printed)).toEqual(expected);
  });

  it('runs in a page without eval, and in a worker, to the bit', { timeout: 90_000 }, async () => {
    const { folder, expected } = made.get(name)!;
    writeFileSync(
      join(folder, 'worker.js'),
      `import { results } from './results.js';
results().then(postMessage);`,
    );
    writeFileSync(
      join(folder, 'page.js'),
      `import { results } from './results.js';
const here = await results();
const worker = new Worker('/worker.js', { type: 'module' });
worker.onerror = ({ message }) => reportError(new Error(message));
worker.onmessage = ({ data: there }) =>
  fetch('/', { method: 'POST', body: JSON.stringify({ here, there }) });`,
    );
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    const posted = await postedByPage(folder, { policy });
    expect(JSON.parse(posted)).toEqual({ here: expected, there: expected });
  });
});
