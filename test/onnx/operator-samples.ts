/** A small model of every imported operator: `x` and `more` go in, `y` comes out. */

import type { OnnxGraph, OnnxNode, OnnxTensor } from '../../runtime/onnx/format/proto.ts';
import { operators } from '../../runtime/onnx/operators.ts';
import { graph, node, numbers } from './model-file.ts';

type Attributes = NonNullable<Parameters<typeof node>[3]>;

export interface OperatorSample {
  /** The shape of `x`. */
  readonly x: readonly number[];
  readonly graph: OnnxGraph;
}

const ints = (...values: number[]) => numbers('int64', values);
const int = (value: number) => numbers('int64', [value], []);
const float = (value: number) => numbers('float', [value], []);

const floats = (...dims: number[]): OnnxTensor => {
  const count = dims.reduce((product, size) => product * size, 1);
  return numbers(
    'float',
    Array.from({ length: count }, (_, i) => ((i * 7) % 11) / 8 - 0.5),
    dims,
  );
};

interface Spec {
  readonly x?: readonly number[];
  /** Operands behind `x`, by name. */
  readonly more?: Readonly<Record<string, OnnxTensor>>;
  readonly attributes?: Attributes;
  /** The operands, where they aren't `x` and then `more`. */
  readonly inputs?: string;
  readonly outputs?: string;
}

const like = { more: { b: floats(3, 4) } };
const plane = [1, 2, 4, 4];

const specs: Readonly<Record<string, Spec>> = {
  Add: like,
  Sub: like,
  Mul: like,
  Div: like,
  Pow: { more: { b: float(2) } },
  Mod: { more: { b: floats(4) }, attributes: { fmod: 1 } },
  Max: like,
  Min: like,
  Sum: like,
  Mean: like,
  And: like,
  Or: like,
  Xor: like,
  Equal: like,
  Less: like,
  LessOrEqual: like,
  Greater: like,
  GreaterOrEqual: like,
  Where: { more: { c: numbers('bool', [1, 0, 1, 0]), b: floats(3, 4) }, inputs: 'c x b' },
  IsInf: { attributes: { detect_positive: 1, detect_negative: 0 } },
  Cast: { attributes: { to: 6 } },
  CastLike: { more: { b: numbers('bool', [1]) } },
  Clip: { more: { low: float(-0.5), high: float(0.5) } },
  Gelu: { attributes: { approximate: 'tanh' } },
  LeakyRelu: { attributes: { alpha: { float: 0.1 } } },
  Elu: { attributes: { alpha: { float: 0.5 } } },
  Celu: { attributes: { alpha: { float: 0.5 } } },
  Selu: { attributes: { alpha: { float: 0.5 }, gamma: { float: 2 } } },
  HardSigmoid: { attributes: { alpha: { float: 0.5 }, beta: { float: 0.25 } } },
  ThresholdedRelu: { attributes: { alpha: { float: 0.5 } } },
  Shrink: { attributes: { lambd: { float: 0.5 }, bias: { float: 0.25 } } },
  PRelu: { more: { slope: floats(4) } },
  Dropout: { more: { ratio: float(0.5) }, attributes: { seed: 1 } },
  Gather: { more: { i: ints(0, -1) }, attributes: { axis: 1 } },
  Resize: {
    more: { roi: floats(0), scales: numbers('float', [1.5, 0.5]) },
    attributes: { mode: 'linear' },
  },
  GatherElements: {
    more: { i: numbers('int32', [0, 1, 2, -1], [2, 2]) },
    attributes: { axis: 1 },
  },
  GatherND: {
    more: { i: numbers('int32', [0, 1, 2, 3], [2, 2]) },
    attributes: { batch_dims: 0 },
  },
  ScatterElements: {
    more: { i: numbers('int32', [0, 1], [1, 2]), u: floats(1, 2) },
    attributes: { axis: 1, reduction: 'add' },
  },
  ScatterND: {
    more: { i: numbers('int32', [0, 1, 2, 3], [2, 2]), u: floats(2) },
    attributes: { reduction: 'add' },
  },
  OneHot: {
    more: { i: ints(0, 2), depth: int(3), values: floats(2) },
    inputs: 'i depth values',
    attributes: { axis: 0 },
  },
  Softmax: { attributes: { axis: 1 } },
  LogSoftmax: { attributes: { axis: 0 } },
  BatchNormalization: {
    x: plane,
    more: {
      scale: floats(2),
      bias: floats(2),
      mean: floats(2),
      variance: numbers('float', [1, 2]),
    },
    attributes: { epsilon: { float: 1e-5 }, training_mode: 0 },
  },
  InstanceNormalization: {
    x: plane,
    more: { scale: floats(2), bias: floats(2) },
    attributes: { epsilon: { float: 1e-5 } },
  },
  LayerNormalization: {
    more: { scale: floats(4), bias: floats(4) },
    attributes: { axis: -1, epsilon: { float: 1e-5 } },
    outputs: 'y mean deviation',
  },
  GroupNormalization: {
    x: plane,
    more: { scale: floats(2), bias: floats(2) },
    attributes: { num_groups: 2 },
  },
  LpNormalization: { attributes: { axis: 1, p: 1 } },
  MatMul: { more: { b: floats(4, 2) } },
  Gemm: {
    more: { b: floats(2, 4), c: floats(2) },
    attributes: { alpha: { float: 0.5 }, beta: { float: 2 }, transB: 1, transA: 0 },
  },
  Einsum: { more: { b: floats(4, 2) }, attributes: { equation: 'ij,jk->ik' } },
  Conv: {
    x: plane,
    more: { w: floats(2, 1, 3, 3), b: floats(2) },
    attributes: {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 0],
      strides: [2, 1],
      dilations: [1, 1],
      group: 2,
      auto_pad: 'NOTSET',
    },
  },
  ConvTranspose: {
    x: plane,
    more: { w: floats(2, 1, 3, 3), b: floats(1) },
    attributes: {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 0],
      strides: [2, 1],
      dilations: [1, 1],
      group: 1,
      output_padding: [1, 0],
    },
  },
  MaxPool: {
    x: plane,
    attributes: {
      kernel_shape: [2, 2],
      pads: [1, 0, 0, 0],
      strides: [2, 1],
      dilations: [1, 1],
      ceil_mode: 1,
    },
  },
  AveragePool: {
    x: plane,
    attributes: {
      kernel_shape: [2, 2],
      auto_pad: 'SAME_UPPER',
      strides: [2, 1],
      dilations: [1, 1],
      ceil_mode: 0,
      count_include_pad: 1,
    },
  },
  GlobalAveragePool: { x: plane },
  GlobalMaxPool: { x: plane },
  LSTM: {
    x: [3, 2, 4],
    more: { w: floats(1, 8, 4), r: floats(1, 8, 2), b: floats(1, 16) },
    attributes: { hidden_size: 2, direction: 'reverse', layout: 0 },
    outputs: 'y h c',
  },
  GRU: {
    x: [3, 2, 4],
    more: { w: floats(1, 6, 4), r: floats(1, 6, 2), b: floats(1, 12) },
    attributes: { hidden_size: 2, direction: 'forward', layout: 0, linear_before_reset: 1 },
    outputs: 'y h',
  },
  RNN: {
    x: [3, 2, 4],
    more: { w: floats(2, 2, 4), r: floats(2, 2, 2), b: floats(2, 4) },
    attributes: { hidden_size: 2, direction: 'bidirectional', layout: 0 },
    outputs: 'y h',
  },
  CumSum: { more: { axis: int(1) }, attributes: { exclusive: 1, reverse: 1 } },
  ArgMax: { attributes: { axis: 1, keepdims: 0, select_last_index: 1 } },
  ArgMin: { attributes: { axis: 0, keepdims: 1, select_last_index: 0 } },
  TopK: { more: { k: ints(2) }, attributes: { axis: 1, largest: 0 }, outputs: 'y places' },
  Reshape: { more: { sizes: ints(2, -1) }, attributes: { allowzero: 0 } },
  Flatten: { x: [2, 3, 2], attributes: { axis: 2 } },
  Squeeze: { x: [3, 1, 4], more: { axes: ints(1) } },
  Unsqueeze: { more: { axes: ints(1, -1) } },
  Transpose: { x: [2, 3, 2], attributes: { perm: [2, 0, 1] } },
  Concat: { more: { b: floats(3, 2) }, attributes: { axis: 1 } },
  Split: { more: { sizes: ints(1, 3) }, attributes: { axis: 1 }, outputs: 'y z' },
  Slice: { more: { starts: ints(2), ends: ints(-4), axes: ints(0), steps: ints(-1) } },
  Expand: { x: [3, 1], more: { sizes: ints(2, 3, 4) } },
  Tile: { more: { repeats: ints(2, 1) } },
  Pad: { more: { pads: ints(1, 0, 0, 2), value: float(1.5) }, attributes: { mode: 'reflect' } },
  ConstantOfShape: {
    more: { sizes: ints(2, 3) },
    inputs: 'sizes',
    attributes: { value: { tensor: numbers('float', [2.5]) } },
  },
  Range: { more: { from: int(1), to: int(9), by: int(3) }, inputs: 'from to by' },
  Trilu: { more: { k: int(1) }, attributes: { upper: 0 } },
  DepthToSpace: { x: [1, 4, 2, 2], attributes: { blocksize: 2, mode: 'CRD' } },
  SpaceToDepth: { x: [1, 1, 4, 4], attributes: { blocksize: 2 } },
  Shape: { attributes: { start: 0, end: 1 } },
};

const reduced = (name: string): Spec =>
  name.startsWith('Reduce')
    ? { more: { axes: ints(1) }, attributes: { keepdims: 0, noop_with_empty_axes: 1 } }
    : {};

function sampleOf(opType: string): OperatorSample {
  const own = Object.hasOwn(specs, opType) ? specs[opType]! : reduced(opType);
  const { x = [3, 4], more = {}, attributes = {}, outputs = 'y' } = own;
  const inputs = own.inputs ?? ['x', ...Object.keys(more)].join(' ');
  const nodes = [node(opType, inputs, outputs, attributes)];
  return { x, graph: graph({ x: ['float', x] }, outputs.split(' '), nodes, more) };
}

/** Numbers that a model computes from sizes, through every operator that has a form for them. */
const sizes = (nodes: readonly OnnxNode[], more: Readonly<Record<string, OnnxTensor>>) => ({
  x: [3, 4],
  graph: graph({ x: ['float', [3, 4]] }, ['y'], [node('Shape', 'x', 's'), ...nodes], more),
});

const step = graph(
  { i: ['int64', []], c: ['bool', []], a: ['float', [3, 4]] },
  ['go', 'b', 'a'],
  [node('Identity', 'c', 'go'), node('Add', 'a a', 'b')],
);
const branch = (opType: string) => ({ graph: graph({}, [opType], [node(opType, 'x', opType)]) });

const programs: Readonly<Record<string, OperatorSample>> = {
  If: {
    x: [3, 4],
    graph: graph(
      { x: ['float', [3, 4]] },
      ['y'],
      [node('If', 'is', 'y', { then_branch: branch('Relu'), else_branch: branch('Neg') })],
      { is: numbers('bool', [1], []) },
    ),
  },
  Loop: {
    x: [3, 4],
    graph: graph(
      { x: ['float', [3, 4]] },
      ['y', 'all'],
      [node('Loop', 'count go x', 'y all', { body: { graph: step } })],
      { count: int(3), go: numbers('bool', [1], []) },
    ),
  },
  'sizes that are rearranged': sizes(
    [
      node('Concat', 's s', 'twice', { axis: 0 }),
      node('Reshape', 'twice square', 'table'),
      node('Transpose', 'table', 'turned', { perm: [1, 0] }),
      node('Slice', 'turned zero one', 'row'),
      node('Squeeze', 'row zero', 'pair'),
      node('Unsqueeze', 'pair zero', 'column'),
      node('Expand', 'column square', 'spread'),
      node('Gather', 'pair one', 'size'),
      node('ReduceMax', 'spread', 'most', { keepdims: 0 }),
      node('Flatten', 'spread', 'flat', { axis: 0 }),
      node('Add', 'size most', 'both'),
      node('Tile', 'x square', 'y'),
    ],
    { square: ints(2, 2), zero: ints(0), one: ints(1) },
  ),
  'sizes that are computed': sizes(
    [
      node('Mul', 's two', 'm'),
      node('Sub', 'm s', 'd'),
      node('Div', 'd one', 'q'),
      node('Mod', 'q big', 'r'),
      node('Equal', 'r s', 'e'),
      node('Where', 'e r s', 'w'),
      node('Neg', 'w', 'n'),
      node('Max', 'w n', 'l'),
      node('Pow', 'l one', 'p'),
      node('ReduceProd', 'p', 'count', { keepdims: 1 }),
      node('Range', 'zero end one0', 'places'),
      node('ConstantOfShape', 'count', 'ones'),
      node('Reshape', 'ones p', 'o'),
      node('Add', 'x o', 'y'),
    ],
    { two: ints(2), one: ints(1), big: ints(100), zero: int(0), end: int(3), one0: int(1) },
  ),
};

/** Samples by the name of their operator; all operators have one. */
export const operatorSamples: Readonly<Record<string, OperatorSample>> = {
  ...Object.fromEntries(Object.keys(operators).map((name) => [name, sampleOf(name)])),
  ...programs,
};
