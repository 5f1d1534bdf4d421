/** Settings that a model has as tensors are known when it is compiled, whatever their type. */

import { describe, expect, it } from 'vitest';
import type { OnnxTensor } from '../../runtime/onnx/format/proto.ts';
import { noGrad, randn, seed, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { constant, graph, modelFile, node, numbers } from './model-file.ts';

interface Case {
  readonly settings: Readonly<Record<string, OnnxTensor>>;
  /** From `x`, of shape [3, 4], to `y`. */
  readonly nodes: readonly ReturnType<typeof node>[];
}

const step = graph(
  { i: ['int64', []], c: ['bool', []], a: ['float', [3, 4]] },
  ['go', 'b'],
  [node('Identity', 'c', 'go'), node('Add', 'a a', 'b')],
);
const branch = (opType: string) => ({ graph: graph({}, [opType], [node(opType, 'x', opType)]) });

const cases: Readonly<Record<string, Case>> = {
  Clip: {
    settings: { low: numbers('float', [-0.5], []), high: numbers('float', [0.25], []) },
    nodes: [node('Clip', 'x low high', 'y')],
  },
  'Clip from below': {
    settings: { low: numbers('float', [0.1]) },
    nodes: [node('Clip', 'x low', 'y')],
  },
  Pad: {
    settings: { pads: numbers('int64', [1, 0, 0, 2]), value: numbers('float', [1.5], []) },
    nodes: [node('Pad', 'x pads value', 'y')],
  },
  Pow: { settings: { two: numbers('float', [2], []) }, nodes: [node('Pow', 'x two', 'y')] },
  Range: {
    settings: {
      from: numbers('float', [0.5], []),
      to: numbers('float', [2.5], []),
      by: numbers('float', [0.5], []),
    },
    nodes: [node('Range', 'from to by', 'r'), node('Add', 'x r', 'y')],
  },
  Dropout: {
    settings: { ratio: numbers('float', [0.5], []), training: numbers('bool', [0], []) },
    nodes: [node('Dropout', 'x ratio training', 'd'), node('Neg', 'd', 'y')],
  },
  CumSum: { settings: { axis: numbers('int32', [1], []) }, nodes: [node('CumSum', 'x axis', 'y')] },
  TopK: {
    settings: { k: numbers('int64', [2]) },
    nodes: [node('TopK', 'x k', 'y places')],
  },
  Trilu: { settings: { k: numbers('int64', [1], []) }, nodes: [node('Trilu', 'x k', 'y')] },
  Slice: {
    settings: { from: numbers('int32', [1]), to: numbers('int32', [3]) },
    nodes: [node('Slice', 'x from to', 'y')],
  },
  ReduceSum: {
    settings: { axes: numbers('int64', [1]) },
    nodes: [node('ReduceSum', 'x axes', 'y')],
  },
  ConstantOfShape: {
    settings: { shape: numbers('int64', [3, 4]) },
    nodes: [
      node('ConstantOfShape', 'shape', 'c', { value: { tensor: numbers('float', [2.5]) } }),
      node('Mul', 'x c', 'y'),
    ],
  },
  If: {
    settings: { is: numbers('bool', [1], []) },
    nodes: [node('If', 'is', 'y', { then_branch: branch('Relu'), else_branch: branch('Neg') })],
  },
  'If on a number that was cast': {
    settings: { one: numbers('int64', [0], []) },
    nodes: [
      node('Cast', 'one', 'is', { to: 9 }),
      node('If', 'is', 'y', { then_branch: branch('Relu'), else_branch: branch('Neg') }),
    ],
  },
  Loop: {
    settings: { count: numbers('int64', [3], []), go: numbers('bool', [1], []) },
    nodes: [node('Loop', 'count go x', 'y', { body: { graph: step } })],
  },
};

const forms = {
  initializers: ({ settings, nodes }: Case) =>
    graph({ x: ['float', [3, 4]] }, ['y'], nodes, settings),
  'constants among the nodes': ({ settings, nodes }: Case) =>
    graph(
      { x: ['float', [3, 4]] },
      ['y'],
      [...Object.entries(settings).map(([name, value]) => constant(name, value)), ...nodes],
    ),
};

describe.each(Object.keys(forms) as (keyof typeof forms)[])('settings that are %s', (form) => {
  it.each(Object.keys(cases))('are known in a program: %s', async (name) => {
    const model = await importOnnx(modelFile(forms[form](cases[name]!)));
    expect(Object.keys(model.stateDict())).toEqual([]);
    seed(1);
    const x = randn([3, 4]);
    const forward = (input: Tensor) => model.forward(input) as Tensor;
    const compiled = toStatic(forward, { fullGraph: true });
    const [found, expected] = noGrad(() => [compiled(x), forward(x)]);
    expect(found.shape).toEqual(expected.shape);
    expect(found.dataSync()).toEqual(expected.dataSync());
    expect(compiled.stats().graphs).toBe(1);
  });
});

it('bounds that a model computes stay in the program', async () => {
  const inputs = { x: ['float', [4]], low: ['float', []], high: ['float', []] } as const;
  const model = await importOnnx(
    modelFile(graph(inputs, ['y'], [node('Clip', 'x low high', 'y')])),
  );
  const clip = toStatic((...all: Tensor[]) => model.forward(...all) as Tensor, { fullGraph: true });
  const x = tensor([-2, 0, 1, Number.NaN]);
  expect([...clip(x, tensor(-1), tensor(0.5)).dataSync()]).toEqual([-1, 0, 0.5, Number.NaN]);
});

it('a number that is data as well stays a weight', async () => {
  const nodes = [node('Clip', 'x bound', 'c'), node('Mul', 'c bound', 'y')];
  const settings = { bound: numbers('float', [0.5], []) };
  const model = await importOnnx(modelFile(graph({ x: ['float', [2]] }, ['y'], nodes, settings)));
  expect(Object.keys(model.stateDict())).toEqual(['bound']);
  expect([...(model.forward(tensor([0, 2])) as Tensor).dataSync()]).toEqual([0.25, 1]);
});
