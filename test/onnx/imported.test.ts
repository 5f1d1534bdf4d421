/** Imported models run, compile, train and are saved like modules of our own. */

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { operators } from '../../runtime/onnx/operators.ts';
import { exportOnnx } from '../../src/export/index.ts';
import {
  ArgumentError,
  type LoadedProgram,
  load,
  nn,
  noGrad,
  optim,
  randn,
  save,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic,
} from '../../src/index.ts';
import { importOnnx, type OnnxModule } from '../../src/onnx/index.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import { decodeMessage, encodeMessage } from '../../src/protobuf/message.ts';
import { controlFunctions, controlInputs } from '../export/control-functions.ts';

interface Sample {
  readonly net: nn.Module & { forward(x: Tensor): Tensor };
  readonly shape: (n: number) => number[];
  readonly spec: readonly (string | number)[];
}

const samples: Readonly<Record<string, () => Sample>> = {
  'an MLP': () => ({
    net: new nn.Sequential(
      new nn.Linear(6, 8),
      new nn.LayerNorm(8),
      new nn.GELU(),
      new nn.Linear(8, 3),
      new nn.Softmax(1),
    ),
    shape: (n) => [n, 6],
    spec: ['batch', 6],
  }),
  'a convolution net': () => ({
    net: new nn.Sequential(
      new nn.Conv2d(1, 4, 3, { padding: 1 }),
      new nn.BatchNorm2d(4),
      new nn.ReLU(),
      new nn.MaxPool2d(2),
      new nn.Flatten(),
      new nn.Linear(64, 3),
    ),
    shape: (n) => [n, 1, 8, 8],
    spec: ['batch', 1, 8, 8],
  }),
};

interface Imported {
  readonly original: (x: Tensor) => Tensor;
  readonly model: OnnxModule;
  readonly file: Uint8Array;
  readonly input: (n: number) => Tensor;
}

const imported = new Map<string, Imported>();
beforeAll(async () => {
  seed(5);
  for (const [name, build] of Object.entries(samples)) {
    const { net, shape, spec } = build();
    net.eval();
    const original = toStatic((x: Tensor) => net.forward(x), {
      fullGraph: true,
      inputSpec: [tensorSpec(spec, 'float32', 'x')],
    });
    original(randn(shape(3)));
    original(randn(shape(4)));
    const { model: file } = await exportOnnx(original);
    const model = await importOnnx(file);
    imported.set(name, { original, model, file, input: (n) => randn(shape(n)) });
  }
});

const distance = (a: Tensor, b: Tensor) => {
  const [x, y] = [a.dataSync(), b.dataSync()] as [Float32Array, Float32Array];
  return Math.max(...x.map((value, i) => Math.abs(value - y[i]!)));
};

const forward = (model: OnnxModule, x: Tensor) => model.forward(x) as Tensor;

describe.each(Object.keys(samples))('%s, exported and imported', (name) => {
  it('computes what the original does, at every size', () => {
    const { original, model, input } = imported.get(name)!;
    for (const n of [2, 7]) {
      const x = input(n);
      expect(distance(original(x), forward(model, x))).toBeLessThan(1e-6);
    }
  });

  it('compiles to one program with the bits of eager execution', () => {
    const { model, input } = imported.get(name)!;
    const compiled = toStatic((x: Tensor) => forward(model, x), { fullGraph: true });
    const x = input(3);
    expect(distance(compiled(x), forward(model, x))).toBe(0);
    expect(compiled.stats().graphs).toBe(1);
  });

  it('is saved with its weights', async () => {
    const { model, input } = imported.get(name)!;
    const compiled = toStatic((x: Tensor) => forward(model, x), { fullGraph: true });
    const x = input(3);
    const y = noGrad(() => compiled(x));
    const loaded = (await load(await save(compiled))) as LoadedProgram;
    expect(distance(noGrad(() => loaded(x)) as Tensor, y)).toBe(0);
  });

  it('trains', async () => {
    const { file, input } = imported.get(name)!;
    const model = await importOnnx(file);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.02 });
    const step = toStatic(
      (x: Tensor) => {
        const loss = forward(model, x).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { fullGraph: true },
    );
    const x = input(4);
    const losses = [0, 1, 2, 3].map(() => step(x).itemSync());
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
  });

  it('loads the state of the original by its names', () => {
    const { model } = imported.get(name)!;
    const names = [...model.namedParameters()].map(([path]) => path);
    expect(names).toContain('net.0.weight');
    expect(Object.keys(model.stateDict()).sort()).toEqual(expect.arrayContaining(names.sort()));
  });
});

describe('control flow', () => {
  it.each(Object.keys(controlFunctions))('%s takes our path', async (name) => {
    const fn = controlFunctions[name]!;
    for (const values of controlInputs) {
      const compiled = toStatic(fn, { fullGraph: true });
      const expected = noGrad(() => compiled(tensor(values)));
      const model = await importOnnx((await exportOnnx(compiled)).model);
      const found = noGrad(() => forward(model, tensor(values)));
      expect(distance(found, expected)).toBeLessThan(1e-5);
    }
  });
});

describe('the documentation', () => {
  it('lists the operators', () => {
    const text = readFileSync(new URL('../../docs/export.md', import.meta.url), 'utf8');
    const [, list] = /Imported operators: (.*)\./.exec(text)!;
    const names = ['Constant', 'If', 'Loop', ...Object.keys(operators)].sort();
    expect(list).toBe(names.map((name) => `\`${name}\``).join(', '));
  });
});

describe('what is not imported', () => {
  const changed = (change: (model: ReturnType<typeof parse>) => void) => {
    const model = parse();
    change(model);
    return importOnnx(encodeMessage(modelSchema, model));
  };
  const parse = () => decodeMessage(modelSchema, imported.get('an MLP')!.file, 'onnx');

  it('operators are all named', async () => {
    const one = changed(({ graph }) => {
      graph!.node[0]!.opType = 'StringSplit';
      graph!.node[1]!.opType = 'DeformConv';
    });
    await expect(one).rejects.toThrow(ArgumentError);
    await expect(one).rejects.toThrow(/DeformConv, StringSplit/);
  });

  it.each([12, 23])('opset %i', async (version) => {
    const one = changed(({ opsetImport }) => {
      opsetImport[0]!.version = version;
    });
    await expect(one).rejects.toThrow(/13 to 22/);
  });

  it('another number of inputs names them', () => {
    const { model } = imported.get('an MLP')!;
    expect(() => model.forward()).toThrow(/x/);
  });
});
