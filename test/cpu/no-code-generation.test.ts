/** Where no WebAssembly can be compiled, kernels are plain JavaScript: eagerly and captured, to the same bits. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  crossEntropy,
  nn,
  ones,
  optim,
  save,
  seed,
  type Tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { asShipped } from '../package/as-shipped.ts';

const index = join(import.meta.dirname, '../../src/index.ts');

/** What a page's policy without 'wasm-unsafe-eval' does. */
const atOnce = `WebAssembly.Module = class { constructor() { throw new WebAssembly.CompileError('disallowed'); } };`;

/** Cloudflare's workers compile while they start, and not later; timers are for later. */
const afterwards = `
Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Cloudflare-Workers' } });
const { Module } = WebAssembly;
WebAssembly.Module = function (...args) {
  if (globalThis.started) throw new WebAssembly.CompileError('disallowed');
  return new Module(...args);
};
const { setTimeout } = globalThis;
globalThis.setTimeout = (...args) => {
  if (!globalThis.started) throw new Error('disallowed');
  return setTimeout(...args);
};`;

const program = (start: string) => `
${start}
const { crossEntropy, nn, optim, randn, seed, tensor, toStatic } = await import(${JSON.stringify(index)});
new nn.Linear(2, 3).forward(randn([1, 2]));
globalThis.started = true;
const { Sequential, Linear, ReLU, Conv2d, BatchNorm2d, MaxPool2d, Flatten, Dropout, LayerNorm, GELU } = nn;
class Attention extends nn.Module {
  projected = new Linear(4, 12);
  norm = new LayerNorm(4);
  head = new Linear(4, 2);
  forward(x) {
    const [q, k, v] = this.projected.forward(this.norm.forward(x)).chunk(3, -1);
    return this.head.forward(q.matmul(k.transpose(-1, -2)).softmax(-1).matmul(v).add(x).mean(1));
  }
}
class Recurrent extends nn.Module {
  cells = new nn.LSTM(4, 5, { batchFirst: true });
  head = new Linear(5, 2);
  forward(x) {
    return this.head.forward(this.cells.forward(x)[0].select(1, -1));
  }
}
const models = {
  mlp: [() => new Sequential(new Linear(4, 8), new ReLU(), new Dropout(0.2), new Linear(8, 2)), [6, 4]],
  gelu: [() => new Sequential(new Linear(4, 8), new GELU(), new LayerNorm(8), new Linear(8, 2)), [6, 4]],
  conv: [() => new Sequential(new Conv2d(1, 3, 3), new BatchNorm2d(3), new ReLU(), new MaxPool2d(2), new Flatten(), new Linear(12, 2)), [6, 1, 6, 6]],
  attention: [() => new Attention(), [6, 3, 4]],
  recurrent: [() => new Recurrent(), [6, 3, 4]],
};
const optimizers = [(p) => new optim.AdamW(p, { lr: 0.1 }), (p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9 })];
function losses(make, shape, optimize, options) {
  seed(1);
  const model = make();
  const optimizer = optimize(model.parameters());
  const body = (x, y) => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const step = options ? toStatic(body, { ...options, fallback: 'error' }) : body;
  const y = tensor([0, 1, 1, 0, 1, 0], { dtype: 'int32' });
  return [1, 2, 3].map(() => step(randn(shape), y).itemSync());
}
const found = {};
for (const name of process.argv.slice(2)) {
  const [make, shape] = models[name];
  [{}, { fullGraph: true, memory: { prefer: 'bytes' } }].forEach((mode, i) => {
    const [eager, captured] = [null, mode].map((each) => losses(make, shape, optimizers[i], each));
    found[name + i] = { eager, captured };
  });
}
console.log(JSON.stringify(found));
`;

it.each([
  ['never', atOnce, ['mlp', 'gelu', 'conv', 'attention', 'recurrent']],
  ['only while the program starts', afterwards, ['mlp']],
])(
  'training steps where code can be generated %s',
  async (_when, start, models) => {
    const found = (await run(program(start), ...models)) as Record<string, Losses>;
    expect(Object.keys(found)).toHaveLength(2 * models.length);
    for (const { eager, captured } of Object.values(found)) {
      expect(eager.every(Number.isFinite)).toBe(true);
      expect(captured).toEqual(eager);
    }
  },
  240_000,
);

it('a program that was saved where code can be generated', async () => {
  seed(1);
  const model = new nn.Sequential(
    ...[new nn.Linear(2, 8), new nn.GELU(), new nn.LayerNorm(8), new nn.Linear(8, 2)],
  );
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
  const step = toStatic((x: Tensor, y: Tensor) => {
    const loss = crossEntropy(model.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const x = ones([4, 2]);
  const y = zeros([4], { dtype: 'int32' });
  step(x, y);
  await step.ready();
  const file = Buffer.from(await save(step)).toString('base64');
  const expected = [1, 2].map(() => step(x, y).itemSync());
  const losses = await run(`
    ${atOnce}
    const { load, ones, zeros } = await import(${JSON.stringify(index)});
    const step = await load(Buffer.from('${file}', 'base64'));
    const losses = [1, 2].map(() => step(ones([4, 2]), zeros([4], { dtype: 'int32' })).itemSync());
    console.log(JSON.stringify(losses));`);
  expect((losses as number[]).map((loss) => loss.toFixed(5))).toEqual(
    expected.map((loss) => loss.toFixed(5)),
  );
}, 240_000);

async function run(text: string, ...args: readonly string[]): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'no-code-'));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, text);
  const all = [...(await asShipped()), file, ...args];
  const { stdout, stderr } = spawnSync(process.execPath, all, { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

interface Losses {
  readonly eager: number[];
  readonly captured: number[];
}
