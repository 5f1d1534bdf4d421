import { pad } from '../../ops/arranging/padding.ts';
import { conv1d, conv2d } from '../../ops/convolution/conv.ts';
import { convTranspose1d, convTranspose2d } from '../../ops/convolution/conv-transpose.ts';
import { maxPool1d, maxPool2d } from '../../ops/convolution/max-pool.ts';
import { einsum } from '../../ops/products/einsum.ts';
import { matmul } from '../../ops/products/matmul.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import type { Attributes } from '../format/attributes.ts';
import type { NodeFacts, Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import { tensorOf } from '../values/host.ts';
import { wrongSetting } from '../values/wrong-setting.ts';

type Pair = readonly [number, number];

const autoPads = ['NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'] as const;

const gemm: Operator = ({ attributes }) => {
  const [alpha, beta] = [attributes.number('alpha', 1), attributes.number('beta', 1)];
  const [transA, transB] = [attributes.flag('transA', false), attributes.flag('transB', false)];
  return ([a, b, c]) => {
    const [x, y] = [tensorOf(a!), tensorOf(b!)];
    const product = matmul(transA ? x.t() : x, transB ? y.t() : y);
    const scaled = alpha === 1 ? product : product.mul(alpha);
    if (!c) return scaled;
    return scaled.add(beta === 1 ? tensorOf(c) : tensorOf(c).mul(beta));
  };
};

interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** The padding before and after each dimension. */
  readonly pads: readonly Pair[];
}

/** Returns the sizes of a window over the last dimensions of an operand. */
function windowOf({ opType, attributes }: NodeFacts, x: Tensor, kernel: readonly number[]): Window {
  const count = x.rank - 2;
  if (count !== 1 && count !== 2) throw missing(`${opType} over ${count} dimensions`);
  if (kernel.length !== count) {
    throw wrongSetting(`${opType} with a window of ${kernel.length} dimensions`, `${count}`);
  }
  const ones = kernel.map(() => 1);
  const strides = attributes.ints('strides', { min: 1, count }) ?? ones;
  const dilations = attributes.ints('dilations', { min: 1, count }) ?? ones;
  return {
    kernel,
    strides,
    dilations,
    pads: padsOf(attributes, x.shape.slice(2), kernel, strides, dilations),
  };
}

function padsOf(
  attributes: Attributes,
  sizes: readonly number[],
  kernel: readonly number[],
  strides: readonly number[],
  dilations: readonly number[],
): readonly Pair[] {
  const auto = attributes.choice('auto_pad', autoPads, 'NOTSET');
  const pads = attributes.ints('pads', { min: 0, count: 2 * sizes.length });
  if (auto === 'NOTSET')
    return sizes.map((_, i) => [pads?.[i] ?? 0, pads?.[i + sizes.length] ?? 0]);
  if (auto === 'VALID') return sizes.map(() => [0, 0]);
  return sizes.map((size, i) => {
    const covered =
      (Math.ceil(size / strides[i]!) - 1) * strides[i]! + (kernel[i]! - 1) * dilations[i]! + 1;
    const total = Math.max(0, covered - size);
    const small = Math.floor(total / 2);
    return auto === 'SAME_LOWER' ? [total - small, small] : [small, total - small];
  });
}

/** Pads explicitly if the amounts before and after differ, which windows don't support. */
function padded(x: Tensor, pads: readonly Pair[], value: number): Tensor {
  return pad(x, [...pads].reverse().flat(), 'constant', value);
}

const isEven = (pads: readonly Pair[]) => pads.every(([before, after]) => before === after);

const pairOf = (numbers: readonly number[]): Pair => [numbers[0]!, numbers[1]!];

const convolution: Operator = (node) => {
  const groups = node.attributes.int('group', 1, { min: 1 });
  return ([x, w, b]) => {
    const [input, weight] = [tensorOf(x!), tensorOf(w!)];
    const { strides, dilations, pads } = windowOf(node, input, weight.shape.slice(2));
    const paddedInput = isEven(pads) ? input : padded(input, pads, 0);
    const padding = pads.map(([before]) => (isEven(pads) ? before : 0));
    const bias = b ? tensorOf(b) : null;
    if (padding.length === 1) {
      return conv1d(paddedInput, weight, bias, {
        stride: strides[0]!,
        dilation: dilations[0]!,
        padding: padding[0]!,
        groups,
      });
    }
    return conv2d(paddedInput, weight, bias, {
      stride: pairOf(strides),
      dilation: pairOf(dilations),
      padding: pairOf(padding),
      groups,
    });
  };
};

const transposedConvolution: Operator = (node) => {
  const { attributes } = node;
  const groups = attributes.int('group', 1, { min: 1 });
  if (
    attributes.has('output_shape') ||
    attributes.choice('auto_pad', autoPads, 'NOTSET') !== 'NOTSET'
  ) {
    throw missing('ConvTranspose with output_shape or auto_pad');
  }
  return ([x, w, b]) => {
    const [input, weight] = [tensorOf(x!), tensorOf(w!)];
    const { strides, dilations, pads } = windowOf(node, input, weight.shape.slice(2));
    const extra =
      attributes.ints('output_padding', { min: 0, count: strides.length }) ?? strides.map(() => 0);
    const bias = b ? tensorOf(b) : null;
    // Computes the whole result, then crops the padding.
    const all =
      strides.length === 1
        ? convTranspose1d(input, weight, bias, {
            stride: strides[0]!,
            dilation: dilations[0]!,
            groups,
          })
        : convTranspose2d(input, weight, bias, {
            stride: pairOf(strides),
            dilation: pairOf(dilations),
            groups,
          });
    return pads.reduce((y, [before, after], i) => {
      const cut = after - extra[i]!;
      const kept = cut >= 0 ? y : behind(y, i + 2, -cut, bias);
      return kept.narrow(i + 2, before, kept.shape[i + 2]! - before - Math.max(cut, 0));
    }, all);
  };
};

/** Appends entries that no window reaches, which equal the bias. */
function behind(y: Tensor, dim: number, count: number, bias: Tensor | null): Tensor {
  const amounts = [...Array<number>(2 * (y.rank - 1 - dim)).fill(0), 0, count];
  if (!bias) return pad(y, amounts);
  const shape = [-1, ...Array<number>(y.rank - 2).fill(1)];
  return pad(y.sub(bias.reshape(shape)), amounts).add(bias.reshape(shape));
}

/** Returns the extra padding for windows that extend past the end and may lack entries. */
function rest(size: number, window: Window, i: number): number {
  const { kernel, strides, dilations, pads } = window;
  const reach = (kernel[i]! - 1) * dilations[i]! + 1;
  const total = size + pads[i]![0] + pads[i]![1];
  const count = Math.ceil((total - reach) / strides[i]!) + 1;
  // A window that would start after the operand doesn't count.
  const isInside = (count - 1) * strides[i]! < size + pads[i]![0];
  return Math.max(0, ((isInside ? count : count - 1) - 1) * strides[i]! + reach - total);
}

function pooledWindow(node: NodeFacts, x: Tensor): Window {
  const kernel = node.attributes.ints('kernel_shape', { min: 1 }) ?? [];
  const window = windowOf(node, x, kernel);
  if (!node.attributes.flag('ceil_mode', false)) return window;
  const pads = window.pads.map(
    ([before, after], i): Pair => [before, after + rest(x.shape[i + 2]!, window, i)],
  );
  return { ...window, pads };
}

const maxPool: Operator = (node) => {
  if (node.outputs > 1) throw missing('MaxPool with the places of the entries');
  return ([x]) => {
    const input = tensorOf(x!);
    const { kernel, strides, dilations, pads } = pooledWindow(node, input);
    const isFloat = input.dtype !== 'uint8' && input.dtype !== 'int32';
    if (!isFloat) throw missing('MaxPool of integers');
    const paddedInput = padded(input, pads, Number.NEGATIVE_INFINITY);
    if (kernel.length === 1)
      return maxPool1d(paddedInput, kernel[0]!, { stride: strides[0]!, dilation: dilations[0]! });
    return maxPool2d(paddedInput, pairOf(kernel), {
      stride: pairOf(strides),
      dilation: pairOf(dilations),
    });
  };
};

/** Sums windows by a convolution with ones and divides by their numbers of entries. */
const averagePool: Operator = (node) => {
  const { attributes } = node;
  const countsPadding = attributes.flag('count_include_pad', false);
  return ([x]) => {
    const input = tensorOf(x!);
    const window = pooledWindow(node, input);
    const planes = input.reshape([input.shape[0]! * input.shape[1]!, 1, ...input.shape.slice(2)]);
    const sums = windowSums(padded(planes, window.pads, 0), window);
    const ones = planes.narrow(0, 0, 1).mul(0).add(1);
    const plain = windowOf(node, input, window.kernel).pads;
    // Entries added by rounding up never count; padding counts if requested.
    const counted = countsPadding
      ? padded(padded(ones, plain, 1), surplus(window.pads, plain), 0)
      : padded(ones, window.pads, 0);
    const means = sums.div(windowSums(counted, window));
    return means.reshape([...input.shape.slice(0, 2), ...means.shape.slice(2)]);
  };
};

const surplus = (pads: readonly Pair[], plain: readonly Pair[]): readonly Pair[] =>
  pads.map(([, after], i) => [0, after - plain[i]![1]]);

function windowSums(x: Tensor, { kernel, strides, dilations }: Window): Tensor {
  const ones = x.newOnes([1, 1, ...kernel]);
  if (kernel.length === 1)
    return conv1d(x, ones, null, { stride: strides[0]!, dilation: dilations[0]! });
  return conv2d(x, ones, null, { stride: pairOf(strides), dilation: pairOf(dilations) });
}

const overPlane =
  (fn: (x: Tensor, dims: number[]) => Tensor): Operator =>
  () =>
  ([x]) => {
    const tensor = tensorOf(x!);
    return fn(
      tensor,
      tensor.shape.slice(2).map((_, i) => i + 2),
    );
  };

const summed: Operator = ({ attributes }) => {
  const equation = attributes.text('equation', '');
  return (operands) =>
    einsum(
      equation,
      operands.map((each) => tensorOf(each!)),
    );
};

export const productOperators: Readonly<Record<string, Operator>> = {
  MatMul:
    () =>
    ([a, b]) =>
      matmul(tensorOf(a!), tensorOf(b!)),
  Gemm: gemm,
  Einsum: summed,
  Conv: convolution,
  ConvTranspose: transposedConvolution,
  MaxPool: maxPool,
  AveragePool: averagePool,
  GlobalAveragePool: overPlane((x, dims) => x.mean(dims, { keepDim: true })),
  GlobalMaxPool: overPlane((x, dims) => x.amax(dims, { keepDim: true })),
};
