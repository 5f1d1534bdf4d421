/** The TypeScript samples of README and docs, and what each of them takes for granted. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as tostatic from '../../src/index.ts';

const root = join(import.meta.dirname, '../..');

const digits = `const model = new nn.Linear(4, 3), optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
const images = randn([2, 4]), labels = tensor([0, 2], { dtype: 'int32' });`;
const step = `const step = toStatic((x: Tensor) => x.mul(2).sum());`;

/** Samples that run: what stands before each, and what is called after it. Keys are page and number. */
export const runnable: Readonly<Record<string, readonly [before: string, after?: string]>> = {
  'README 0': [''],
  'README 1': [
    `${digits}\nconst x = images, losses = [3, 2, 1], loader = [[images, labels]] as const;
const step = toStatic((x: Tensor) => model.forward(x));
const train = ([images]: (typeof loader)[number]) => step(images);`,
  ],
  'architecture 0': ['const w = randn([3, 4]).requiresGrad_(), x = randn([2, 3]);'],
  'backends 0': ['const fn = (x: Tensor) => x.mul(2).sum();', 'f(ones([2]));'],
  'cache 0': ['const train = (x: Tensor) => x.mul(2).sum();', 'step(ones([2]));'],
  'check-mode 0': ['const train = (x: Tensor) => x.mul(2).sum();', 'step(ones([2]));'],
  'distributions 0': [
    'const model = new nn.Linear(4, 3), state = randn([2, 4]), advantage = randn([2]);',
    'loss.backward();',
  ],
  'export 0': [
    'const trainingStep = (x: Tensor) => x.mul(2).sum(), batch = (i: number) => [ones([3]).mul(i)] as const;',
    "if (!text.includes('stablehlo') || !sidecar || !state) throw new Error('nothing exported');",
  ],
  'export 1': [
    "import { exportOnnx } from 'tostatic/export';\nconst images = ones([5, 784]);",
    "if (model.length === 0) throw new Error('nothing exported');",
  ],
  'export 2': [
    `import { writeFileSync } from 'node:fs';
import { exportOnnx } from 'tostatic/export';
const x = ones([2, 3]);
{
  const double = toStatic((x: Tensor) => x.mul(2), { fullGraph: true });
  double(x);
  writeFileSync('model.onnx', (await exportOnnx(double)).model);
}`,
    "if (!step(x) || y.sum().itemSync() !== 12) throw new Error('wrong');",
  ],
  'export 3': [
    `import { mkdirSync } from 'node:fs';
import { openWeights, saveSafetensors } from 'tostatic/weights';
const model = new nn.Linear(2, 1);
mkdirSync('run/checkpoints', { recursive: true });
await saveSafetensors(
  { 'model.weight': ones([1, 2]), 'model.bias': ones([1]), 'optimizer.averages.0': ones([1, 2]) },
  'run/checkpoints/000001000.safetensors',
);`,
    "if (model.weight.sum().itemSync() !== 2) throw new Error('not loaded');",
  ],
  'export 4': [
    'const images = ones([5, 784]);',
    "if (!declarations.includes('Float32Array') || memory.planned !== memory.arena || !code) throw new Error('nothing exported');",
  ],
  'full-graph 0': [
    '',
    "if (!root(tensor([4, 9])).sub(tensor([2, 3])).abs().lt(1e-3).all().itemSync()) throw new Error('wrong');",
  ],
  'full-graph 1': [
    `const end = 3, places = zeros([2], { dtype: 'int32' });
const advance = (scores: Tensor) => ({ best: scores.add(1), from: places, token: places.add(3) });`,
    `toStatic(search, { fullGraph: true })(randn([2]));`,
  ],
  'full-graph 2': [
    `const length = tensor(3), x = randn([3, 4]), v = randn([4, 1]).requiresGrad_(), out: Tensor[] = [];
const cell = (a: Tensor, b: Tensor) => a.add(b).tanh();
let h = zeros([4]);
let t = 0;`,
  ],
  'full-graph 3': [
    `type Options = { mask?: Tensor; rest: readonly Tensor[]; mode: string | null };
const attend = (x: Tensor, mask: Tensor | undefined, rest: readonly Tensor[]) =>
  rest.reduce((a, b) => a.add(b.sum()), mask ? x.mul(mask) : x);`,
    `f(ones([2, 3]), { rest: [ones([4])], mode: null });`,
  ],
  'gpu 1': ['', 'distances(ones([3, 2]), ones([4, 2]));'],
  'how-it-works 0': [digits, 'step(images, labels);'],
  'how-it-works 1': ['', 'f(ones([2]));\nf(ones([2]).neg());'],
  'how-it-works 2': ['', 'root(tensor([4, 9]));'],
  'memory 0': [`${digits}\nlet total = 0;\nconst loader = [[images, labels]] as const;`],
  'memory 1': ['const train = (x: Tensor) => x.mul(2).sum();', 'step(ones([2]));'],
  'memory 2': [
    'const lossOf = (x: Tensor) => x.exp().sum();',
    'loss(ones([2]).requiresGrad_()).backward();',
  ],
  'profiler 0': [
    `import { writeFileSync } from 'node:fs';\n${digits}
const step = (x: Tensor, y: Tensor) => crossEntropy(model.forward(x), y);`,
  ],
  'save-load 0': ['const images = randn([5, 784]);'],
  'save-load 1': ['const images = randn([5, 784]);'],
  'scope 0': [
    'const model = new nn.Linear(4, 3);\nlet scale = 1;\nconst step = (x: Tensor) => model.forward(x).mul(scale);',
    "if (scope.get('scale') !== 1 || scope.route !== 'inspector') throw new Error('wrong scope');",
  ],
  'seeing 0': ['const model = new nn.Sequential(new nn.Conv2d(1, 2, 3), new nn.ReLU());'],
  'seeing 1': [
    `${digits}\nconst loader = [[images, labels]] as const;
const step = (x: Tensor, y: Tensor) => crossEntropy(model.forward(x), y);`,
  ],
  'seeing 2': [
    `import { writeFileSync } from 'node:fs';\nconst train = [3, 2, 1], test = [3, 2.5, 2];`,
  ],
  'seeing 3': [
    'const model = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU());',
    `let message = '';
try {
  model.forward(tensor([[1, Number.NaN]]));
} catch (error) {
  message = (error as Error).message;
}
if (!message.startsWith('0: tensor([[')) throw new Error(message);`,
  ],
  'seeing 4': [`import { writeFileSync } from 'node:fs';\n${step}\nstep(ones([2]));`],
  'seeing 5': [
    `const model = new nn.Linear(2, 3), loss = tensor(0.5), image = zeros([1, 2, 2]), step = 0;
const train = toStatic((x: Tensor) => model.forward(x));
train(ones([1, 2]));`,
  ],
  'weights 0': [
    `{
  const other = new nn.Sequential(new nn.Linear(784, 128), new nn.ReLU(), new nn.Linear(128, 10));
  await saveSafetensors(other.stateDict(), 'model.safetensors');
}`,
  ],
  'works-with 0': ['', "if (!Number.isFinite(loss.itemSync())) throw new Error('wrong');"],
};

/** Samples that are only type-checked: why, and what stands before each. */
export const checkedOnly: Readonly<Record<string, readonly [reason: string, before?: string]>> = {
  'backends 1': ['needs onnxruntime-node: test/onnxruntime'],
  'backends 2': ['needs onnxruntime-web: test/package/onnxruntime-web.test.ts'],
  'dtypes 0': ['must come before the first op of the process'],
  'dtypes 1': ['needs Node 24: test/cpu/revectorize.test.ts'],
  'gpu 0': [
    'needs a GPU',
    `const [x, w] = [randn([2, 4]), randn([4, 3])], labels = tensor([0, 2], { dtype: 'int32' });`,
  ],
  'nn 0': [
    'steps of such an optimizer: test/optim/own-optimizer.test.ts',
    'const model = new nn.Linear(2, 3);',
  ],
  'nn 1': [
    'needs the digits: test/data/mnist.test.ts',
    'const step = (images: Tensor, labels: Tensor) => [images, labels];',
  ],
  'nn 2': [
    'needs a module of its own for workers',
    `const dataset = new data.TensorDataset(randn([8, 2]), randn([8, 1]));
const train = ([x]: readonly Tensor[]) => x;`,
  ],
  'plugin 0': ['configures a bundler: test/plugin, test/package'],
  'plugin 1': ['needs Bun: test/plugin/bun.test.ts'],
  'works-with 1': ['fetches a file: test/package/sizes.test.ts', 'const pixels = [[0, 1]];'],
  'works-with 2': ['captures in a page: test/package/deferred.test.ts'],
};

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];

export const samples = pages.flatMap((file) => {
  const found = readFileSync(join(root, file), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g);
  return Array.from(found, ([, code], i) => ({
    name: `${basename(file, '.md')} ${i}`,
    code: code!,
  }));
});

/** The sample as a module: names of the package that it uses and does not import are imported. */
export function moduleOf(code: string, before = '', after = ''): string {
  const text = `${before}\n${code}\n${after}`;
  const imported = new Set(
    [...text.matchAll(/import \{([^}]*)\}/g)].flatMap(([, names]) =>
      names!.split(',').map((name) => name.replace('type ', '').trim()),
    ),
  );
  const own = [...text.matchAll(/(?:const|let) (?:\{([^}]*)\}|(\w+))/g)].flatMap(([, many, one]) =>
    (many ?? one!).split(',').map((name) => name.trim()),
  );
  const used = [...Object.keys(tostatic), 'Tensor'].filter(
    (name) =>
      new RegExp(`(?<![.\\w])${name}\\b`).test(text) && !imported.has(name) && !own.includes(name),
  );
  const names = [...new Set(used)].map((name) => (name === 'Tensor' ? 'type Tensor' : name));
  return `import { ${names.join(', ')} } from 'tostatic';\n${text}\nexport {};\n`;
}
