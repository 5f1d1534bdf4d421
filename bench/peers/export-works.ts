/** Writes works as ONNX models with their inputs, for engines without autograd: DIR/W3.onnx, W3.json. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportOnnx } from '../../src/export/index.ts';
import { conv2d, grad, matmul, randn, seed, type Tensor, toStatic } from '../../src/index.ts';
import { Block, blockStep, mlp } from '../works/networks.ts';
import { chained } from '../works/ops.ts';

/** A function, and its arguments by shape. */
interface Exported {
  readonly name: string;
  readonly fn: (...args: Tensor[]) => unknown;
  readonly shapes: readonly (readonly number[])[];
}

const block = { batch: 8, steps: 128, width: 256, heads: 4 };

function exports(): readonly Exported[] {
  const forward = new Block(block);
  for (const parameter of forward.parameters()) parameter.requiresGrad_(false);
  const convolved = (image: Tensor, weight: Tensor): Tensor[] => {
    const [x, w] = [image.detach().requiresGrad_(), weight.detach().requiresGrad_()];
    return [...grad(conv2d(x, w, null, { padding: 1 }).square().mean(), [x, w])];
  };
  return [
    {
      name: 'W1',
      fn: (x, y) => matmul(x!, y!),
      shapes: [
        [512, 512],
        [512, 512],
      ],
    },
    {
      name: 'W1b',
      fn: (x, y) => matmul(x!, y!),
      shapes: [
        [1024, 1024],
        [1024, 1024],
      ],
    },
    { name: 'W3', fn: mlp(128).step, shapes: [] },
    { name: 'W4f', fn: (x) => forward.forward(x!), shapes: [[8, 128, 256]] },
    { name: 'W4', fn: blockStep(block).step, shapes: [] },
    {
      name: 'W5',
      fn: (x, w) => convolved(x!, w!),
      shapes: [
        [16, 32, 32, 32],
        [64, 32, 3, 3],
      ],
    },
    { name: 'W6', fn: (x) => chained(x!), shapes: [[4 << 20]] },
  ];
}

const folder = process.argv[2] ?? 'reports/peers';
mkdirSync(folder, { recursive: true });
seed(1);
for (const { name, fn, shapes } of exports()) {
  try {
    const run = toStatic(fn, { fullGraph: true });
    const args = shapes.map((shape) => randn([...shape]));
    for (let i = 0; i < 3; i++) run(...args);
    const { model, sidecar, state } = await exportOnnx(run, { sizes: 'fixed' });
    writeFileSync(join(folder, `${name}.onnx`), model);
    writeFileSync(join(folder, `${name}.safetensors`), state);
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(sidecar));
    console.log(`${name}: ${model.length} bytes`);
  } catch (error) {
    console.log(`${name}: not exported: ${String(error)}`);
  }
}
