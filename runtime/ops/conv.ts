import { DTypeError, ShapeError } from '../errors/errors.ts';
import { dtypes } from '../tensor/dtype.ts';
import { tidy } from '../tensor/lifetime.ts';
import { formatSpec, type TensorMeta } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { bind, bind1 } from './bind.ts';
import { type Attrs, defineOp, type OpRecord, saving } from './define-op.ts';
import { gather } from './gather.ts';
import { flatten, reshape } from './movement.ts';
import { add } from './pointwise.ts';

type Pair = readonly [number, number];

const pairOf = (value: number | Pair): Pair => (typeof value === 'number' ? [value, value] : value);

/** Output size of one spatial dimension. */
function windowed(size: number, kernel: number, stride: number, padding: number, dilation: number) {
  return Math.floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;
}

function inferConv2d([x, w]: readonly TensorMeta[], attrs: Attrs) {
  const [n, c, h, wide] = x!.shape;
  const [o, cPerGroup, kh, kw] = w!.shape;
  const stride = attrs.stride as Pair;
  const padding = attrs.padding as Pair;
  const dilation = attrs.dilation as Pair;
  const groups = attrs.groups as number;
  if (!dtypes[x!.dtype].floating || x!.dtype !== w!.dtype) {
    throw new DTypeError({
      what: 'conv2d: not floating-point tensors of one dtype',
      given: `${formatSpec(x!)} and ${formatSpec(w!)}`,
      expected: 'float32 and float32, or float64 and float64',
      remedy: "cast the input: x.to('float32')",
    });
  }
  if (x!.shape.length !== 4 || w!.shape.length !== 4 || c !== cPerGroup! * groups || o! % groups) {
    throw new ShapeError({
      what: "conv2d: input and weight don't fit",
      given: `${formatSpec(x!)} with weight ${formatSpec(w!)}, ${groups} group(s)`,
      expected: '[n, c, h, w] with weight [o, c / groups, kh, kw], o divisible by groups',
      remedy: 'add the channel dimension (x.unsqueeze(1)) or change the number of channels',
    });
  }
  const outH = windowed(h!, kh!, stride[0], padding[0], dilation[0]);
  const outW = windowed(wide!, kw!, stride[1], padding[1], dilation[1]);
  if (outH < 1 || outW < 1) {
    throw new ShapeError({
      what: 'conv2d: the kernel is larger than the padded input',
      given: `${formatSpec(x!)} with weight ${formatSpec(w!)}, padding ${padding.join('×')}`,
      expected: 'at least one output position',
      remedy: 'use a smaller kernel or more padding',
    });
  }
  return { dtype: x!.dtype, shape: [n!, o!, outH, outW] };
}

const conv2dInputGradOp: OpRecord = defineOp({
  name: 'conv2dInputGrad',
  operands: { dy: 'data', w: 'data', x: 'shape' },
  infer: ([dy, , x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: { kind: 'named', name: 'conv2dInputGrad' },
  vjp: {
    dy: saving({ w: 'value' }, ({ w }, g, attrs) => bind1(conv2dOp, [g, w], attrs)),
    w: saving({ dy: 'value', w: 'shape' }, ({ dy, w }, g, attrs) =>
      bind1(conv2dWeightGradOp, [dy, g, w as Tensor], attrs),
    ),
  },
});

const conv2dWeightGradOp: OpRecord = defineOp({
  name: 'conv2dWeightGrad',
  operands: { dy: 'data', x: 'data', w: 'shape' },
  infer: ([dy, , w]) => ({ dtype: dy!.dtype, shape: w!.shape }),
  kernel: { kind: 'named', name: 'conv2dWeightGrad' },
  vjp: {
    dy: saving({ x: 'value' }, ({ x }, g, attrs) => bind1(conv2dOp, [x, g], attrs)),
    x: saving({ dy: 'value', x: 'shape' }, ({ dy, x }, g, attrs) =>
      bind1(conv2dInputGradOp, [dy, g, x as Tensor], attrs),
    ),
  },
});

const conv2dOp: OpRecord = defineOp({
  name: 'conv2d',
  operands: { x: 'data', w: 'data' },
  infer: inferConv2d,
  kernel: { kind: 'named', name: 'conv2d' },
  vjp: {
    x: saving({ x: 'shape', w: 'value' }, ({ x, w }, dy, attrs) =>
      bind1(conv2dInputGradOp, [dy, w, x as Tensor], attrs),
    ),
    w: saving({ x: 'value', w: 'shape' }, ({ x, w }, dy, attrs) =>
      bind1(conv2dWeightGradOp, [dy, x, w as Tensor], attrs),
    ),
  },
});

export interface Conv2dOptions {
  readonly stride?: number | Pair;
  readonly padding?: number | Pair;
  readonly dilation?: number | Pair;
  readonly groups?: number;
}

/** Cross-correlation of [n,c,h,w] with weight [o, c/groups, kh, kw]; bias [o]. */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  options: Conv2dOptions = {},
): Tensor {
  return tidy(() => {
    const y = bind1(conv2dOp, [x, weight], {
      stride: pairOf(options.stride ?? 1),
      padding: pairOf(options.padding ?? 0),
      dilation: pairOf(options.dilation ?? 1),
      groups: options.groups ?? 1,
    });
    return bias ? add(y, reshape(bias, [1, -1, 1, 1])) : y;
  });
}

// Max pooling

const maxPool2dGradOp = defineOp({
  name: 'maxPool2dGrad',
  operands: { dy: 'data', indices: 'data', x: 'shape' },
  infer: ([dy, , x]) => ({ dtype: dy!.dtype, shape: x!.shape }),
  kernel: { kind: 'named', name: 'maxPool2dGrad' },
  // Indices count within one plane.
  vjp: {
    dy: saving({ indices: 'value' }, ({ indices }, g) => {
      const chosen = gather(flatten(g, 2), 2, flatten(indices, 2));
      return reshape(chosen, indices.shape);
    }),
  },
});

const maxPool2dOp = defineOp({
  name: 'maxPool2d',
  operands: { x: 'data' },
  infer: ([x], attrs) => {
    const [n, c, h, w] = x!.shape;
    const kernel = attrs.kernel as Pair;
    const stride = attrs.stride as Pair;
    const padding = attrs.padding as Pair;
    if (
      x!.shape.length !== 4 ||
      h! + 2 * padding[0] < kernel[0] ||
      w! + 2 * padding[1] < kernel[1] ||
      // A window that lies in the padding alone would have no value.
      padding.some((size, i) => 2 * size > kernel[i]!)
    ) {
      throw new ShapeError({
        what: "maxPool2d: the window doesn't fit",
        given: `${formatSpec(x!)} with window ${kernel.join('×')}, padding ${padding.join('×')}`,
        expected: '[n, c, h, w] at least as large as the window, padding at most half the window',
        remedy: 'use a smaller window or less padding, or pool less often',
      });
    }
    const shape = [
      n!,
      c!,
      windowed(h!, kernel[0], stride[0], padding[0], 1),
      windowed(w!, kernel[1], stride[1], padding[1], 1),
    ];
    return [
      { dtype: x!.dtype, shape },
      { dtype: 'int32', shape },
    ];
  },
  kernel: { kind: 'named', name: 'maxPool2d' },
  vjp: {
    x: saving({ out1: 'value', x: 'shape' }, ({ out1, x }, dy) =>
      bind1(maxPool2dGradOp, [dy, out1, x as Tensor]),
    ),
  },
});

export interface Pool2dOptions {
  /** The window's size when left out. */
  readonly stride?: number | Pair;
  readonly padding?: number | Pair;
}

/** Largest value of each window of [n,c,h,w]; the first one counts among equals. */
export function maxPool2d(x: Tensor, kernel: number | Pair, options: Pool2dOptions = {}): Tensor {
  const [out, indices] = bind(maxPool2dOp, [x], {
    kernel: pairOf(kernel),
    stride: pairOf(options.stride ?? kernel),
    padding: pairOf(options.padding ?? 0),
  });
  // Backward keeps the indices itself; without gradients nobody needs them.
  indices!.dispose();
  return out!;
}
