import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { conv2d } from '../../../runtime/ops/convolution/conv.ts';
import { maxPool2d } from '../../../runtime/ops/convolution/max-pool.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { expandLike, sumTo } from '../../../runtime/ops/core/broadcast.ts';
import { nllLoss } from '../../../runtime/ops/loss/class-losses.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import { where } from '../../../runtime/ops/pointwise/pointwise.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { spread, type Tensor, tensor } from '../eager.ts';
import { arrangingCases } from './gradient-cases-arranging.ts';
import { layerGradientCases } from './gradient-cases-layers.ts';
import { matrixGradientCases } from './gradient-cases-matrices.ts';
import { pointwiseCases } from './gradient-cases-pointwise.ts';
import { reductionCases } from './gradient-cases-reductions.ts';

/** A differentiable function and where to try it. */
export interface GradientCase {
  /** What is special about it. */
  readonly name: string;
  readonly shapes: readonly Shape[];
  /** The inputs are spread over this range: away from poles and kinks. [-1, 1] when left out. */
  readonly range?: readonly [low: number, high: number];
  readonly run: (...inputs: Tensor[]) => Tensor;
}

type Unary = (x: Tensor) => Tensor;
type Binary = (x: Tensor, y: Tensor) => Tensor;

const positive = [0.5, 2] as const;

function unary(run: Unary, range: readonly [number, number] = [-1, 1]): GradientCase[] {
  return [
    { name: '[2,3]', shapes: [[2, 3]], range, run },
    { name: 'scalar', shapes: [[]], range, run },
    { name: 'transposed', shapes: [[3, 4]], range, run: (x) => run(x.transpose(0, 1)) },
  ];
}

function binary(run: Binary, range: readonly [number, number] = [-1, 1]): GradientCase[] {
  const at = (name: string, ...shapes: Shape[]): GradientCase => ({ name, shapes, range, run });
  return [
    at('equal shapes', [2, 3], [2, 3]),
    at('left broadcast', [3], [2, 3]),
    at('right broadcast', [2, 3], [2, 1]),
    at('both broadcast', [2, 1, 3], [4, 1]),
    at('scalar', [], [2, 2]),
    { name: 'same operand twice', shapes: [[2, 3]], range, run: (x) => run(x, x) },
  ];
}

/** Of numbers with few digits, which a half holds with the step of the differences. */
const halfCast = (name: string): GradientCase[] => [
  {
    name: '[4]',
    shapes: [[4]],
    range: [-1, 1],
    run: (x) => bind1(opNamed(name), [x]).to('float32'),
  },
];

/** An op that has no function of its own. */
const direct =
  (name: string, attrs: Attrs = {}) =>
  (...inputs: Tensor[]) =>
    bind1(opNamed(name), inputs, attrs);

const ones = (shape: Shape) =>
  tensor(
    new Float32Array(shape.reduce((a, b) => a * b, 1)).map(() => 1),
    { shape },
  );

/** A constant that no other case has. */
const spreadOver = (shape: Shape, salt: number) => tensor(spread(shape, salt), { shape });

/** A backward op of a gradient and an output. */
const pair = (name: string): GradientCase[] => [
  {
    name: '[2,3]',
    shapes: [
      [2, 3],
      [2, 3],
    ],
    run: (dy, out) => direct(name)(dy, out),
  },
];

const windows: Attrs = { stride: [2, 1], padding: [1, 1], dilation: [2, 1], groups: 2 };

const labels = () => tensor(Int32Array.of(2, 0, 1));
const mask = () => tensor([true, false, true]);

const reductions = (run: (x: Tensor, dims?: number | number[], keep?: boolean) => Tensor) => [
  { name: 'all', shapes: [[2, 3]], run: (x: Tensor) => run(x) },
  { name: 'last', shapes: [[2, 3]], run: (x: Tensor) => run(x, -1) },
  { name: 'first, kept', shapes: [[2, 3]], run: (x: Tensor) => run(x, 0, true) },
  { name: 'outer two', shapes: [[2, 3, 4]], run: (x: Tensor) => run(x, [0, 2]) },
  {
    name: 'transposed',
    shapes: [[2, 3, 4]],
    run: (x: Tensor) => run(x.transpose(0, 2), 1),
  },
];

type GradientCases = Readonly<Record<string, readonly GradientCase[]>>;

const basicCases: GradientCases = {
  contiguous: unary((x) => x.clone()),
  toFloat32: unary((x) => bind1(opNamed('toFloat32'), [x])),
  // Steps of 2^-5 are exact in both.
  toFloat16: halfCast('toFloat16'),
  toBfloat16: halfCast('toBfloat16'),
  toFloat64: unary((x) => bind1(opNamed('toFloat64'), [x]).to(x.dtype)),
  expand: [
    { name: 'size 1', shapes: [[2, 1]], run: (x) => x.expand([2, 3]) },
    { name: 'new leading', shapes: [[3]], run: (x) => x.expand([2, 2, 3]) },
  ],
  expandLike: [{ name: 'size 1', shapes: [[2, 1]], run: (x) => expandLike(x, ones([4, 2, 3])) }],
  sumTo: [
    { name: 'leading', shapes: [[2, 3]], run: (x) => sumTo(x, ones([3])) },
    { name: 'inner', shapes: [[2, 3, 4]], run: (x) => sumTo(x, ones([3, 1])) },
  ],
  add: binary((x, y) => x.add(y)),
  sub: binary((x, y) => x.sub(y)),
  mul: binary((x, y) => x.mul(y)),
  div: binary((x, y) => x.div(y), positive),
  maximum: binary((x, y) => x.maximum(y)),
  largerShare: [
    {
      name: 'equal shapes',
      shapes: [[2, 3]],
      run: (x) => direct('largerShare')(x, spreadOver([2, 3], 1), spreadOver([2, 3], 2)),
    },
  ],
  addScalar: unary((x) => x.add(2.5)),
  mulScalar: unary((x) => x.mul(-1.5)),
  divScalar: unary((x) => x.div(4)),
  powScalar: [
    ...unary((x) => x.pow(3)),
    { name: 'square root', shapes: [[2, 3]], range: positive, run: (x) => x.pow(0.5) },
    { name: 'inverse', shapes: [[2, 3]], range: positive, run: (x) => x.pow(-1) },
    { name: 'exponent 0', shapes: [[2, 3]], run: (x) => x.pow(0) },
  ],
  neg: unary((x) => x.neg()),
  abs: unary((x) => x.abs(), [-0.9, 1.1]),
  exp: unary((x) => x.exp()),
  log: unary((x) => x.log(), positive),
  sqrt: unary((x) => x.sqrt(), positive),
  tanh: unary((x) => x.tanh()),
  sigmoid: unary((x) => x.sigmoid(), [-3, 3]),
  relu: unary((x) => x.relu(), [-0.9, 1.1]),
  tanhGrad: pair('tanhGrad'),
  sigmoidGrad: pair('sigmoidGrad'),
  reluGrad: [
    { name: '[2,3]', shapes: [[2, 3]], run: (x) => direct('reluGrad')(x, spreadOver([2, 3], 1)) },
  ],
  keepWhere: [{ name: '[2,3]', shapes: [[2, 3]], run: (x) => direct('keepWhere')(x, mask()) }],
  dropWhere: [{ name: '[2,3]', shapes: [[2, 3]], run: (x) => direct('dropWhere')(x, mask()) }],
  where: [
    {
      name: 'equal shapes',
      shapes: [
        [2, 3],
        [2, 3],
      ],
      run: (x, y) => where(mask(), x, y),
    },
    { name: 'broadcast', shapes: [[2, 1], [3]], run: (x, y) => where(mask(), x, y) },
  ],
  reshape: [
    { name: 'contiguous', shapes: [[2, 6]], run: (x) => x.reshape([3, -1]) },
    { name: 'strided view', shapes: [[2, 6]], run: (x) => x.transpose(0, 1).reshape([3, 2, 2]) },
    { name: 'copied', shapes: [[2, 6]], run: (x) => x.transpose(0, 1).reshape([12]) },
    { name: 'squeezed', shapes: [[2, 1, 3]], run: (x) => x.squeeze(1) },
    { name: 'unsqueezed', shapes: [[2, 3]], run: (x) => x.unsqueeze(-1) },
    { name: 'flattened', shapes: [[2, 3, 2]], run: (x) => x.flatten(1) },
  ],
  reshapeLike: [
    { name: 'contiguous', shapes: [[6]], run: (x) => direct('reshapeLike')(x, ones([2, 3])) },
  ],
  permute: [
    { name: 'rotation', shapes: [[2, 3, 4]], run: (x) => x.permute([2, 0, 1]) },
    { name: 'transpose', shapes: [[2, 3]], run: (x) => x.transpose(0, 1) },
  ],
  narrow: [
    { name: 'inner', shapes: [[2, 5]], run: (x) => x.narrow(1, 1, 3) },
    { name: 'of transposed', shapes: [[2, 5]], run: (x) => x.transpose(0, 1).narrow(0, 2, 2) },
    { name: 'select', shapes: [[3, 4]], run: (x) => x.select(1, -1) },
  ],
  narrowGrad: [
    {
      name: 'inner',
      shapes: [[2, 3]],
      run: (x) => direct('narrowGrad', { dim: 1, start: 1 })(x, ones([2, 5])),
    },
  ],
  unreduce: [
    {
      name: 'dropped',
      shapes: [[3]],
      run: (x) => direct('unreduce', { dims: [0, 2], keepDim: false })(x, ones([2, 3, 4])),
    },
    {
      name: 'kept',
      shapes: [[3, 1]],
      run: (x) => direct('unreduce', { dims: [1], keepDim: true })(x, ones([3, 4])),
    },
  ],
  sum: reductions((x, dims, keepDim) => x.sum(dims, { keepDim: keepDim ?? false })),
  max: reductions((x, dims, keepDim) => x.amax(dims, { keepDim: keepDim ?? false })),
  softmax: unary((x) => x.softmax(), [-2, 2]),
  logSoftmax: unary((x) => x.logSoftmax(), [-2, 2]),
  softmaxGrad: pair('softmaxGrad'),
  logSoftmaxGrad: pair('logSoftmaxGrad'),
  nllLossGrad: [
    {
      name: '[3,4]',
      shapes: [[]],
      run: (x) => direct('nllLossGrad')(x, labels(), ones([3, 4])),
    },
  ],
  nllLoss: [{ name: '[3,4]', shapes: [[3, 4]], run: (x) => nllLoss(x, labels()) }],
  matmul: [
    {
      name: 'matrices',
      shapes: [
        [2, 3],
        [3, 4],
      ],
      run: (a, b) => a.matmul(b),
    },
    {
      name: 'transposed',
      shapes: [
        [2, 3],
        [4, 3],
      ],
      run: (a, b) => a.matmul(b.transpose(0, 1)),
    },
    { name: 'vectors', shapes: [[3], [3]], run: (a, b) => a.matmul(b) },
    { name: 'row', shapes: [[3], [2, 3, 4]], run: (a, b) => a.matmul(b) },
    { name: 'column', shapes: [[2, 4, 3], [3]], run: (a, b) => a.matmul(b) },
    {
      name: 'folded',
      shapes: [
        [2, 2, 3],
        [3, 4],
      ],
      run: (a, b) => a.matmul(b),
    },
    {
      name: 'batched',
      shapes: [
        [2, 2, 3],
        [2, 3, 2],
      ],
      run: (a, b) => a.matmul(b),
    },
    {
      name: 'broadcast',
      shapes: [
        [2, 3],
        [2, 3, 2],
      ],
      run: (a, b) => a.matmul(b),
    },
    { name: 'with itself', shapes: [[3, 3]], run: (a) => a.matmul(a) },
  ],
  conv2d: [
    {
      name: 'plain',
      shapes: [
        [2, 2, 5, 4],
        [3, 2, 3, 2],
      ],
      run: (x, w) => conv2d(x, w),
    },
    {
      name: 'strided, padded, dilated, with bias',
      shapes: [[1, 2, 7, 6], [2, 2, 2, 3], [2]],
      run: (x, w, b) => conv2d(x, w, b, { stride: [2, 1], padding: [1, 2], dilation: [2, 1] }),
    },
    {
      name: 'groups',
      shapes: [
        [1, 4, 4, 4],
        [6, 2, 2, 2],
      ],
      run: (x, w) => conv2d(x, w, null, { groups: 2 }),
    },
  ],
  conv2dInputGrad: [
    {
      name: 'strided, padded, dilated, in groups',
      shapes: [
        [1, 4, 3, 6],
        [4, 1, 2, 3],
      ],
      run: (dy, w) => direct('conv2dInputGrad', windows)(dy, w, ones([1, 2, 6, 6])),
    },
  ],
  conv2dWeightGrad: [
    {
      name: 'strided, padded, dilated, in groups',
      shapes: [
        [1, 4, 3, 6],
        [1, 2, 6, 6],
      ],
      run: (dy, x) => direct('conv2dWeightGrad', windows)(dy, x, ones([4, 1, 2, 3])),
    },
  ],
  maxPool2dGrad: [
    {
      name: 'overlapping',
      shapes: [[1, 2, 1, 2]],
      run: (x) => {
        const places = tensor(Int32Array.of(4, 4, 0, 5), { shape: [1, 2, 1, 2] });
        return direct('maxPool2dGrad')(x, places, ones([1, 2, 2, 3]));
      },
    },
  ],
  maxPool2d: [
    { name: 'plain', shapes: [[1, 2, 4, 6]], run: (x) => maxPool2d(x, 2) },
    {
      name: 'overlapping, padded',
      shapes: [[1, 2, 5, 5]],
      run: (x) => maxPool2d(x, 3, { stride: 2, padding: 1 }),
    },
  ],
};

/** For every op with a gradient, the places where it is compared with differences. */
export const gradientCases: GradientCases = merged(
  basicCases,
  arrangingCases,
  pointwiseCases,
  reductionCases,
  layerGradientCases,
  matrixGradientCases,
);

/** An op may have cases in several tables. */
function merged(...tables: readonly GradientCases[]): GradientCases {
  const all: Record<string, GradientCase[]> = {};
  for (const table of tables) {
    for (const [op, cases] of Object.entries(table)) {
      all[op] = [...(all[op] ?? []), ...cases];
    }
  }
  return all;
}
