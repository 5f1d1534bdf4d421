/** Branches, loops, open sizes and weights outside of the model, in onnxruntime. */

import { beforeAll, describe, expect, it } from 'vitest';
import type { OnnxModel } from '../../runtime/onnx/format/proto.ts';
import { exportOnnx } from '../../src/export/index.ts';
import {
  nn,
  noGrad,
  randn,
  seed,
  type Tensor,
  tensor,
  tensorSpec,
  toStatic,
} from '../../src/index.ts';
import { modelSchema } from '../../src/onnx/schema.ts';
import { decodeMessage } from '../../src/protobuf/message.ts';
import { controlFunctions, controlInputs } from './control-functions.ts';
import { type OnnxJob, type OnnxResult, runOnnx } from './onnxruntime.ts';
import { onnxPython } from './python.ts';

const python = onnxPython();
const expected = new Map<string, readonly number[]>();
const models = new Map<string, OnnxModel>();
const jobs: Record<string, OnnxJob> = {};
let results: Record<string, OnnxResult> = {};

const parsed = (model: Uint8Array) => decodeMessage(modelSchema, model, 'onnx');

interface Family {
  readonly build: () => { fn: (...inputs: Tensor[]) => Tensor; shape: (n: number) => number[] };
  readonly spec: Parameters<typeof tensorSpec>;
}

/** Functions for every batch, the sizes of whose inputs and results depend on it. */
const families: Readonly<Record<string, Family>> = {
  'an MLP': {
    build: () => {
      const net = new nn.Sequential(new nn.Linear(6, 8), new nn.LayerNorm(8), new nn.GELU());
      return { fn: (x) => net.forward(x!).softmax(1), shape: (n) => [n, 6] };
    },
    spec: [['batch', 6], 'float32', 'x'],
  },
  'a convolution net': {
    build: () => {
      const net = new nn.Sequential(
        new nn.Conv2d(1, 4, 3, { padding: 1 }),
        new nn.ReLU(),
        new nn.MaxPool2d(2),
        new nn.Flatten(),
        new nn.Linear(4 * 16, 3),
      );
      return { fn: (x) => net.forward(x!), shape: (n) => [n, 1, 8, 8] };
    },
    spec: [['batch', 1, 8, 8], 'float32', 'image'],
  },
  attention: {
    build: () => {
      const net = new nn.MultiheadAttention(8, 2, { batchFirst: true });
      return { fn: (x) => net.forward(x!, x!, x!)[0], shape: (n) => [2, n, 8] };
    },
    spec: [[2, 'time', 8], 'float32', 'tokens'],
  },
  'sizes in numbers': {
    build: () => ({
      fn: (x) => x!.sub(x!.sum().div(x!.shape[0]! * 3)).reshape([x!.shape[0]! * 3]),
      shape: (n) => [n, 3],
    }),
    spec: [['n', 3], 'float32', 'x'],
  },
};

beforeAll(async () => {
  for (const [name, fn] of Object.entries(controlFunctions)) {
    for (const [i, values] of controlInputs.entries()) {
      const compiled = toStatic(fn, { fullGraph: true });
      const output = noGrad(() => compiled(tensor(values)));
      expected.set(`${name} ${i}`, [...output.dataSync()]);
      const { model, sidecar } = await exportOnnx(compiled);
      models.set(name, parsed(model));
      const inputs = [[sidecar.inputs[0]!.name, tensor(values)]] as const;
      jobs[`${name} ${i}`] = { model, outputs: sidecar.outputs, inputs, steps: 1, batches: [] };
    }
  }
  seed(1);
  for (const [name, { build, spec }] of Object.entries(families)) {
    const { fn, shape } = build();
    const compiled = toStatic(fn, { fullGraph: true, inputSpec: [tensorSpec(...spec)] });
    const run = (n: number) => {
      const x = randn(shape(n));
      return { x, y: compiled(x) };
    };
    run(3);
    run(4);
    const { model, sidecar } = await exportOnnx(compiled);
    models.set(name, parsed(model));
    for (const n of [2, 5, 11]) {
      const { x, y } = run(n);
      expected.set(`${name} ${n}`, [...y.dataSync()]);
      const inputs = [[sidecar.inputs[0]!.name, x]] as const;
      jobs[`${name} ${n}`] = { model, outputs: sidecar.outputs, inputs, steps: 1, batches: [] };
    }
  }
  const net = new nn.Linear(64, 64);
  const large = toStatic((x: Tensor) => net.forward(x), { fullGraph: true });
  const x = randn([2, 64]);
  expected.set('external', [...noGrad(() => large(x)).dataSync()]);
  const { model, data, sidecar } = await exportOnnx(large, { externalData: 'external.onnx.data' });
  models.set('external', parsed(model));
  jobs.external = {
    model,
    external: { name: 'external.onnx.data', data: data! },
    outputs: sidecar.outputs,
    inputs: [[sidecar.inputs[0]!.name, x]],
    steps: 1,
    batches: [],
  };
  if (python) results = await runOnnx(python, jobs);
}, 300_000);

const nodesOf = (name: string) => models.get(name)!.graph!.node.map(({ opType }) => opType);

function agrees(key: string): void {
  const found = results[key]!;
  expect('error' in found ? `${key}: ${found.error}` : '').toBe('');
  const theirs = Array.from((found as Record<string, ArrayLike<number>>)['o0.0']!);
  const ours = expected.get(key)!;
  expect(theirs.length).toBe(ours.length);
  const distance = Math.max(...theirs.map((value, i) => Math.abs(value - ours[i]!)));
  expect(distance).toBeLessThan(1e-5);
}

describe('programs in ONNX', () => {
  it('branches and loops are If and Loop', () => {
    expect(nodesOf('branch')).toContain('If');
    expect(nodesOf('branch in a loop')).toContain('Loop');
  });

  it.each(Object.keys(families))('open sizes have the names of the specification: %s', (name) => {
    const { input, output } = models.get(name)!.graph!;
    const dims = input[0]!.type!.tensorType!.shape!.dim;
    const open = families[name]!.spec[0]!.filter((dim) => typeof dim === 'string');
    expect(dims.flatMap(({ dimParam }) => dimParam ?? [])).toEqual(open);
    expect(input[0]!.name).toBe(families[name]!.spec[2]);
    expect(output[0]!.type!.tensorType!.shape!.dim.some(({ dimParam }) => dimParam)).toBe(true);
  });

  it('results that nothing reads keep their names where the operator needs them', async () => {
    const top = toStatic((x: Tensor) => x.topk(2)[0].mul(x.sort(-1)[1].narrow(0, 0, 2)), {
      fullGraph: true,
    });
    top(tensor([3, 1, 2]));
    const nodes = parsed((await exportOnnx(top)).model).graph!.node;
    const outputs = nodes.filter(({ opType }) => opType === 'TopK').map(({ output }) => output);
    expect(outputs.map((names) => names.filter((name) => name !== '').length)).toEqual([2, 2]);
  });

  it('results are named by the nodes that compute them', () => {
    expect(nodesOf('an MLP')).not.toContain('Identity');
    expect(nodesOf('branch')).not.toContain('Identity');
  });

  it('weights that do not change are initializers', () => {
    const { input, initializer } = models.get('an MLP')!.graph!;
    expect(input.length).toBe(1);
    expect(initializer.map(({ name }) => name)).toContain('net.0.weight');
  });

  it('large weights lie in a file beside the model', () => {
    const { initializer } = models.get('external')!.graph!;
    const weight = initializer.find(({ name }) => name === 'net.weight')!;
    expect(weight.dataLocation).toBe(1);
    expect(weight.rawData).toBeUndefined();
    expect(weight.externalData[0]).toEqual({ key: 'location', value: 'external.onnx.data' });
  });

  it('open sizes that are asked for, and are not there, are an error', async () => {
    const table = randn([4, 2]);
    const at = (length: string | { name: string; max: number }) => {
      const fn = toStatic((x: Tensor) => x.add(table.narrow(0, 0, x.shape[0]!)), {
        fullGraph: true,
        inputSpec: [tensorSpec([length, 2], 'float32', 'x')],
      });
      fn(randn([3, 2]));
      return exportOnnx(fn, { sizes: 'symbolic' });
    };
    await expect(at('length')).rejects.toThrow(/no program for every size/);
    const { sidecar } = await at({ name: 'length', max: 4 });
    expect(sidecar.inputs[0]!.shape).toEqual(['length', 2]);
  });

  it('sizes of the compiled program where they are asked for', async () => {
    const fn = toStatic((x: Tensor) => x.mul(2).reshape([-1]), {
      fullGraph: true,
      inputSpec: [tensorSpec(['n', 2], 'float32', 'x')],
    });
    fn(randn([3, 2]));
    const { sidecar } = await exportOnnx(fn, { sizes: 'fixed' });
    expect(sidecar.inputs[0]!.shape).toEqual([3, 2]);
    expect(sidecar.outputs[0]!.shape).toEqual([6]);
  });

  it.runIf(python).each([...Object.keys(controlFunctions)])('take our path: %s', (name) => {
    for (const i of controlInputs.keys()) agrees(`${name} ${i}`);
  });

  it.runIf(python).each(Object.keys(families))('have our results at every size: %s', (name) => {
    for (const n of [2, 5, 11]) agrees(`${name} ${n}`);
  });

  it.runIf(python)('read weights from the file beside', () => {
    agrees('external');
  });
});
