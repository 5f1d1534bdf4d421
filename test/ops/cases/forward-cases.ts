/** A call of every op with a naive reference of its result. */

// The table holds the ops whose files are loaded.
import '../../../runtime/ops/index.ts';
import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { opTable } from '../../../runtime/ops/op-table.ts';
import { halfFormats } from '../../../runtime/spec/half.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { arrangingReferences } from './forward-arranging.ts';
import type { ForwardCase, Input } from './forward-dtypes.ts';
import { layerCases } from './forward-layers.ts';
import { matrixCases } from './forward-matrices.ts';
import { pointwiseReferences } from './forward-pointwise.ts';
import { reductionReferences } from './forward-reductions.ts';
import { specialCases } from './forward-special.ts';
import * as reference from './reference.ts';

export const float = (shape: Shape, low = -2, high = 2): Input => ({
  shape,
  dtype: 'float32',
  range: [low, high],
});
export const int = (shape: Shape, low = -3, high = 4): Input => ({
  shape,
  dtype: 'int32',
  range: [low, high],
});
const bool = (shape: Shape): Input => ({ shape, dtype: 'bool', range: [0, 2] });

type Scalar = (values: readonly number[], value: number) => number;

/** One input of each dtype that the op takes. */
function unary(fn: Scalar, inputs: readonly Input[], attrs: Attrs = {}): ForwardCase[] {
  return inputs.map((input) => ({
    inputs: [input],
    attrs,
    reference: reference.pointwise(fn),
  }));
}

function binary(fn: Scalar, low = -2, integers = true): ForwardCase[] {
  const shapes: [Shape, Shape][] = [
    [
      [3, 4],
      [3, 4],
    ],
    [
      [2, 1, 4],
      [3, 1],
    ],
    [[], [5]],
  ];
  return shapes.flatMap(([a, b]) =>
    [float, ...(integers ? [int] : [])].map((make) => ({
      inputs: [make(a, low), make(b, low)],
      reference: reference.pointwise(fn),
    })),
  );
}

const anyNumber = [float([3, 5]), int([7])];
const positive = [float([3, 5], 0.1, 3)];
const share: Scalar = ([dy, a, b]) => (a! > b! ? dy! : a === b ? dy! / 2 : 0);
const rows = [float([3, 4]), float([3, 4])];
const dot = (a: number[], b: number[]) => a.reduce((total, value, i) => total + value * b[i]!, 0);

function softmax(row: number[]): number[] {
  const powers = row.map((value) => Math.exp(value));
  return powers.map((power) => power / powers.reduce((a, b) => a + b));
}

const compares: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

const comparisons = Object.fromEntries(
  Object.entries(compares).flatMap(([name, holds]) => [
    [name, binary(([a, b]) => Number(holds(a!, b!)))],
    [
      `${name}Scalar`,
      unary(([a], b) => Number(holds(a!, b)), [int([7]), float([2])], { value: 1 }),
    ],
  ]),
);

const convAttrs = (groups: number): Attrs =>
  ({ stride: [2, 1], padding: [1, 2], dilation: [1, 2], groups }) as unknown as Attrs;
/** The output of 6×7 under a 3×2 kernel with these attributes. */
const convOutput = [2, 4, 3, 9];

const outOfPlace: Readonly<Record<string, readonly ForwardCase[]>> = {
  ...arrangingReferences,
  ...specialCases,
  ...layerCases,
  ...matrixCases,
  ...comparisons,
  ...pointwiseReferences,
  ...reductionReferences,
  add: binary(([a, b]) => a! + b!),
  sub: binary(([a, b]) => a! - b!),
  mul: binary(([a, b]) => a! * b!),
  div: binary(([a, b]) => a! / b!, 0.5, false),
  maximum: binary(([a, b]) => Math.max(a!, b!)),
  addScalar: unary(([a], v) => a! + v, anyNumber, { value: 3 }),
  mulScalar: unary(([a], v) => a! * v, anyNumber, { value: -2 }),
  divScalar: unary(([a], v) => a! / v, [float([3, 5])], { value: 3 }),
  powScalar: unary(([a], v) => a! ** v, positive, { value: 1.7 }),
  neg: unary(([a]) => -a!, anyNumber),
  abs: unary(([a]) => Math.abs(a!), anyNumber),
  sign: unary(([a]) => Math.sign(a!), anyNumber),
  exp: unary(([a]) => Math.exp(a!), [float([3, 5], -20, 20)]),
  log: unary(([a]) => Math.log(a!), [float([3, 5], 0.001, 100)]),
  sqrt: unary(([a]) => Math.sqrt(a!), [float([3, 5], 0, 100)]),
  tanh: unary(([a]) => Math.tanh(a!), [float([3, 5], -9, 9)]),
  sigmoid: unary(([a]) => 1 / (1 + Math.exp(-a!)), [float([3, 5], -20, 20)]),
  relu: unary(([a]) => Math.max(a!, 0), anyNumber),
  contiguous: unary(([a]) => a!, [...anyNumber, bool([5])]),
  toFloat32: unary(([a]) => a!, [float([5]), int([5]), bool([5])]),
  toFloat16: unary(
    ([a]) => halfFormats.float16.decode(halfFormats.float16.encode(a!)),
    [float([5])],
  ),
  toBfloat16: unary(
    ([a]) => halfFormats.bfloat16.decode(halfFormats.bfloat16.encode(a!)),
    [float([5])],
  ),
  toUint8: unary(
    ([a]) => Math.trunc(a!) & 255,
    [float([9], -5, 5), int([9], -300, 300), bool([5])],
  ),
  toFloat64: unary(([a]) => a!, [float([5]), int([5]), bool([5])]),
  toInt32: unary(([a]) => Math.trunc(a!), [float([9], -5, 5), bool([5])]),
  toBool: unary(([a]) => Number(a !== 0), [int([9]), float([3])]),
  tanhGrad: fromOutput((dy, out) => dy * (1 - out * out)),
  sigmoidGrad: fromOutput((dy, out) => dy * out * (1 - out)),
  reluGrad: fromOutput((dy, out) => (out > 0 ? dy : 0)),
  largerShare: [
    { inputs: [float([6]), int([6]), int([6])], reference: reference.pointwise(share) },
    { inputs: [float([2, 3]), float([3]), float([2, 1])], reference: reference.pointwise(share) },
  ],
  where: [
    {
      inputs: [bool([3, 1]), float([4]), float([3, 4])],
      reference: reference.pointwise(([test, a, b]) => (test ? a! : b!)),
    },
  ],
  keepWhere: [
    {
      inputs: [float([2, 5]), bool([5])],
      reference: reference.pointwise(([a, test]) => (test ? a! : 0)),
    },
  ],
  dropWhere: [
    {
      inputs: [float([2, 5]), bool([5])],
      reference: reference.pointwise(([a, test]) => (test ? 0 : a!)),
    },
  ],
  full: [
    {
      inputs: [],
      attrs: { shape: [2, 3], value: 1.5, dtype: 'float32' },
      reference: () => Array(6).fill(1.5),
    },
  ],
  add_: unaryInPlace(([x, y], v) => x! + y! * v, [float([3])], { value: -0.5 }),
  mul_: unaryInPlace(([x, y]) => x! * y!, [float([2, 1])]),
  addScalar_: unaryInPlace(([x], v) => x! + v, [], { value: 2 }),
  mulScalar_: unaryInPlace(([x], v) => x! * v, [], { value: 3 }),
  fill_: unaryInPlace((_, v) => v, [], { value: 7 }),
  copy_: unaryInPlace(([, y]) => y!, [float([3])]),
  addcmul_: unaryInPlace(([x, y, z], v) => x! + v * y! * z!, [float([3]), float([2, 1])], {
    value: 0.1,
  }),
  addcdiv_: unaryInPlace(([x, y, z], v) => x! + (v * y!) / z!, [float([3]), float([3], 1, 2)], {
    value: 0.1,
  }),
  sum: [[0], [1], [0, 2], [0, 1, 2]].flatMap((dims) =>
    [false, true].map((keepDim) => ({
      inputs: [float([3, 4, 5])],
      attrs: { dims, keepDim },
      reference: reference.reduction((entries) => entries.reduce((a, b) => a + b, 0)),
    })),
  ),
  max: [[0], [1], [0, 2]].map((dims) => ({
    inputs: [dims.length > 1 ? int([3, 4, 5]) : float([3, 4, 5])],
    attrs: { dims, keepDim: false },
    reference: reference.reduction((entries) => Math.max(...entries)),
  })),
  argmax: [0, 1, 2].map((dim) => ({
    inputs: [int([3, 4, 5])],
    attrs: { dim },
    reference: ([x]) =>
      reference.reduction((entries) => entries.indexOf(Math.max(...entries)))([x!], {
        dims: [dim],
      }),
  })),
  sumTo: [
    {
      inputs: [float([3, 4, 5]), float([4, 1])],
      reference: ([x]) =>
        reference.reduction((entries) => entries.reduce((a, b) => a + b))([x!], { dims: [0, 2] }),
    },
  ],
  narrowGrad: [
    {
      inputs: [float([2, 2]), float([2, 5])],
      attrs: { dim: 1, start: 2 },
      reference: ([dy]) =>
        reference
          .indices([2, 5])
          .map(([i, j]) => (j! < 2 || j! > 3 ? 0 : dy!.values[i! * 2 + j! - 2]!)),
    },
  ],
  matmul: [
    { inputs: [float([3, 5]), float([5, 4])], reference: reference.matmul },
    { inputs: [float([2, 3, 5]), float([2, 5, 4])], reference: reference.matmul },
    { inputs: [float([1, 17]), float([17, 33])], reference: reference.matmul },
  ],
  conv2d: [1, 2].map((groups) => ({
    inputs: [float([2, 4, 6, 7]), float([4, 4 / groups, 3, 2])],
    attrs: convAttrs(groups),
    reference: reference.conv2d(convOutput),
  })),
  conv2dInputGrad: [1, 2].map((groups) => ({
    inputs: [float(convOutput), float([4, 4 / groups, 3, 2]), float([2, 4, 6, 7])],
    attrs: convAttrs(groups),
    reference: reference.conv2dInputGrad,
  })),
  conv2dWeightGrad: [1, 2].map((groups) => ({
    inputs: [float(convOutput), float([2, 4, 6, 7]), float([4, 4 / groups, 3, 2])],
    attrs: convAttrs(groups),
    reference: reference.conv2dWeightGrad,
  })),
  softmax: [{ inputs: [float([3, 4], -5, 5)], reference: reference.byRow(softmax) }],
  logSoftmax: [
    {
      inputs: [float([3, 4], -5, 5)],
      reference: reference.byRow((row) => softmax(row).map(Math.log)),
    },
  ],
  softmaxGrad: [
    {
      inputs: rows,
      reference: reference.byRow((dy, out) => out.map((y, i) => (dy[i]! - dot(dy, out)) * y)),
    },
  ],
  logSoftmaxGrad: [
    {
      inputs: rows,
      reference: reference.byRow((dy, out) => {
        const total = dy.reduce((a, b) => a + b);
        return out.map((y, i) => dy[i]! - Math.exp(y) * total);
      }),
    },
  ],
  nllLoss: [
    {
      inputs: [float([4, 5]), int([4], 0, 5)],
      reference: ([scores, labels]) => [
        -labels!.values.reduce((sum, label, i) => sum + scores!.values[i * 5 + label]!, 0) / 4,
      ],
    },
  ],
  labelScores: [
    {
      inputs: [float([4, 5]), int([4], -1, 7)],
      reference: ([scores, labels]) =>
        labels!.values.map((label, i) =>
          label >= 0 && label < 5 ? scores!.values[i * 5 + label]! : 0,
        ),
    },
  ],
  nllLossOfScores: [
    {
      inputs: [float([4]), int([4], 0, 5)],
      attrs: { classes: 5 },
      reference: ([scores]) => [-scores!.values.reduce((sum, score) => sum + score, 0) / 4],
    },
  ],
  nllLossGrad: [
    {
      inputs: [float([]), int([4], 0, 5), float([4, 5])],
      reference: ([dy, labels]) =>
        reference
          .indices([4, 5])
          .map(([i, j]) => (labels!.values[i!] === j ? -dy!.values[0]! / 4 : 0)),
    },
  ],
};

/** In-place forms of ops give what the op gives, where the first operand has the result's shape. */
export const forwardCases: Readonly<Record<string, readonly ForwardCase[]>> = {
  ...Object.fromEntries(
    [...opTable.values()].flatMap(({ name, inPlace }) => {
      const own = inPlace ? outOfPlace[name.slice(0, -1)] : undefined;
      return own ? [[name, own.filter(holdsResult)]] : [];
    }),
  ),
  ...outOfPlace,
};

function holdsResult({ inputs: [target, ...others] }: ForwardCase): boolean {
  return others.every(({ shape }) => shape.join() === target!.shape.join());
}

/** A gradient from the gradient and the value of an output. */
function fromOutput(fn: (dy: number, out: number) => number): ForwardCase[] {
  return [{ inputs: rows, reference: reference.pointwise(([dy, out]) => fn(dy!, out!)) }];
}

/** The target is [2, 3]; `others` broadcast into it. */
function unaryInPlace(fn: Scalar, others: readonly Input[], attrs: Attrs = {}): ForwardCase[] {
  return [{ inputs: [float([2, 3]), ...others], attrs, reference: reference.pointwise(fn) }];
}
