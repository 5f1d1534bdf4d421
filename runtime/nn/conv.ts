import { ArgumentError } from '../errors/errors.ts';
import { conv3d, convTranspose3d } from '../functional/convolution-3d.ts';
import { type PadMode, pad } from '../ops/arranging/padding.ts';
import { conv1d, conv2d } from '../ops/convolution/conv.ts';
import { convTranspose1d, convTranspose2d } from '../ops/convolution/conv-transpose.ts';
import {
  type ConvOptions,
  type ConvTransposeOptions,
  convKinds,
  convTransposeKinds,
} from '../ops/convolution/convolution-options.ts';
import { expectNoStride, expectSizes } from '../options/expect-arguments.ts';
import { expectOptions, type OptionKinds, shown } from '../options/expect-options.ts';
import { flag, oneOf } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module/module.ts';
import { kaimingUniform, type Parameter } from './module/parameter.ts';

type Pair = readonly [number, number];
type Triple = readonly [number, number, number];
type Single = number | readonly [number];

interface LayerOptions {
  /** True by default. */
  readonly bias?: boolean;
}

interface PaddedOptions extends LayerOptions {
  /** How the padding is filled; `zeros` by default. */
  readonly paddingMode?: 'zeros' | Exclude<PadMode, 'constant'>;
}

const layerKinds: OptionKinds<LayerOptions> = { bias: flag };

const paddedKinds: OptionKinds<PaddedOptions> = {
  ...layerKinds,
  paddingMode: oneOf('zeros', 'reflect', 'replicate', 'circular'),
};

export type Conv1dLayerOptions = ConvOptions<Single> & PaddedOptions;
export type Conv2dLayerOptions = ConvOptions & PaddedOptions;
export type Conv3dLayerOptions = ConvOptions<number | Triple> & PaddedOptions;
export type ConvTranspose1dLayerOptions = ConvTransposeOptions<Single> & LayerOptions;
export type ConvTranspose2dLayerOptions = ConvTransposeOptions & LayerOptions;
export type ConvTranspose3dLayerOptions = ConvTransposeOptions<number | Triple> & LayerOptions;

const sizesOf = (value: number | readonly number[], count: number): readonly number[] =>
  typeof value === 'number' ? Array(count).fill(value) : value;

interface KernelOption<K> {
  /** The kernel size, for callers that pass everything in one object. */
  readonly kernelSize: K;
}

/** Returns the kernel size and the options, which may be passed as one object with `kernelSize`. */
function kernelAndOptions<K extends number | readonly number[], O extends object>(
  name: string,
  kernel: K | (O & KernelOption<K>),
  options: O,
  kinds: OptionKinds<O>,
  count: number,
): readonly [sizes: readonly number[], options: O] {
  const isObject = typeof kernel === 'object' && kernel !== null && !Array.isArray(kernel);
  const { kernelSize, ...named } = (isObject ? kernel : { kernelSize: kernel }) as KernelOption<K>;
  expectOptions(name, options, kinds);
  expectOptions(name, named as unknown as O, kinds);
  const sizes = [typeof kernelSize === 'number' ? sizesOf(kernelSize, count) : kernelSize].flat();
  if (sizes.length === count && sizes.every((size) => Number.isInteger(size) && size > 0)) {
    return [sizes as readonly number[], { ...options, ...(named as unknown as O) }];
  }
  throw new ArgumentError({
    what: `${name}: not a kernel`,
    given: shown(kernelSize),
    expected: `a positive integer, or ${count} of them in an array`,
    remedy: `write new nn.${name}(in, out, 3, { padding: 1 }) or new nn.${name}(in, out, { kernelSize: 3, padding: 1 })`,
  });
}

/** Creates the weight and bias of a convolution; fan-in is the number of inputs per output. */
function weights(shape: readonly [number, number, ...number[]], out: number, bias: boolean) {
  const fanIn = shape.slice(1).reduce((product, size) => product * size, 1);
  return { weight: kaimingUniform(shape, fanIn), bias: bias ? kaimingUniform([out], fanIn) : null };
}

/**
 * Returns the amounts for `pad`, [left, right, top, bottom, …] from the last dimension on, if the padding mode isn't
 * zeros. As in PyTorch, 'same' pads the end more if the total is odd.
 */
function borders(
  padding: number | readonly number[] | 'same' | 'valid',
  kernel: readonly number[],
  dilation: readonly number[],
): number[] {
  return kernel.flatMap((_, i) => {
    const dim = kernel.length - 1 - i;
    if (padding === 'valid') return [0, 0];
    if (padding === 'same') {
      const total = dilation[dim]! * (kernel[dim]! - 1);
      const before = Math.floor(total / 2);
      return [before, total - before];
    }
    const amount = sizesOf(padding, kernel.length)[dim]!;
    return [amount, amount];
  });
}

/** Base of convolutions: weight, bias and padding mode. */
abstract class PaddedConvolution<K extends number | readonly number[]> extends Module {
  weight: Parameter;
  bias: Parameter | null;
  readonly options: ConvOptions<K>;
  readonly paddingMode: NonNullable<PaddedOptions['paddingMode']>;
  readonly borders: readonly number[];

  constructor(
    name: string,
    inChannels: number,
    outChannels: number,
    kernel: K | (ConvOptions<K> & PaddedOptions & KernelOption<K>),
    argument: ConvOptions<K> & PaddedOptions,
    dims: number,
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes(`nn.${name}`, { inChannels, outChannels });
    const kinds = { ...convKinds(dims), ...paddedKinds };
    const [sizes, own] = kernelAndOptions(name, kernel, argument, kinds, dims);
    const { bias = true, paddingMode = 'zeros', ...rest } = own;
    const options: ConvOptions<K> = rest;
    if (options.padding === 'same') expectNoStride(`nn.${name}`, options.stride ?? 1);
    expectGroups(name, [inChannels, outChannels], options.groups);
    const shape = [outChannels, inChannels / (options.groups ?? 1), ...sizes] as const;
    const parameters = weights(shape, outChannels, bias);
    this.weight = parameters.weight;
    this.bias = parameters.bias;
    this.paddingMode = paddingMode;
    this.borders = borders(options.padding ?? 0, sizes, sizesOf(options.dilation ?? 1, dims));
    this.options = paddingMode === 'zeros' ? options : { ...options, padding: 0 as K };
  }
}

/** Cross-correlation: [n, in, length] → [n, out, length']; weight [out, in / groups, k], bias [out]. */
export class Conv1d extends PaddedConvolution<Single> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Single | (Conv1dLayerOptions & KernelOption<Single>),
    options: Conv1dLayerOptions = {},
    ...surplus: []
  ) {
    super('Conv1d', inChannels, outChannels, kernel, options, 1, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    if (this.paddingMode === 'zeros') return conv1d(input, this.weight, this.bias, this.options);
    const mode = this.paddingMode;
    return tidy(() => conv1d(pad(input, this.borders, mode), this.weight, this.bias, this.options));
  }
}

/** Cross-correlation: [n, in, h, w] → [n, out, h', w']; weight [out, in / groups, kh, kw], bias [out]. */
export class Conv2d extends PaddedConvolution<number | Pair> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: number | Pair | (Conv2dLayerOptions & KernelOption<number | Pair>),
    options: Conv2dLayerOptions = {},
    ...surplus: []
  ) {
    super('Conv2d', inChannels, outChannels, kernel, options, 2, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    if (this.paddingMode === 'zeros') return conv2d(input, this.weight, this.bias, this.options);
    const mode = this.paddingMode;
    return tidy(() => conv2d(pad(input, this.borders, mode), this.weight, this.bias, this.options));
  }
}

/** Cross-correlation: [n, in, d, h, w] → [n, out, d', h', w']; weight [out, in / groups, kd, kh, kw], bias [out]. */
export class Conv3d extends PaddedConvolution<number | Triple> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: number | Triple | (Conv3dLayerOptions & KernelOption<number | Triple>),
    options: Conv3dLayerOptions = {},
    ...surplus: []
  ) {
    super('Conv3d', inChannels, outChannels, kernel, options, 3, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    if (this.paddingMode === 'zeros') return conv3d(input, this.weight, this.bias, this.options);
    const mode = this.paddingMode;
    return tidy(() => conv3d(pad(input, this.borders, mode), this.weight, this.bias, this.options));
  }
}

/** Base of transposed convolutions: weight and bias. */
abstract class TransposedConvolution<K extends number | readonly number[]> extends Module {
  weight: Parameter;
  bias: Parameter | null;
  readonly options: ConvTransposeOptions<K>;

  constructor(
    name: string,
    inChannels: number,
    outChannels: number,
    kernel: K | (ConvTransposeOptions<K> & LayerOptions & KernelOption<K>),
    argument: ConvTransposeOptions<K> & LayerOptions,
    dims: number,
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes(`nn.${name}`, { inChannels, outChannels });
    const kinds = { ...convTransposeKinds(dims), ...layerKinds };
    const [sizes, own] = kernelAndOptions(name, kernel, argument, kinds, dims);
    const { bias = true, ...options } = own;
    expectGroups(name, [inChannels, outChannels], options.groups);
    const shape = [inChannels, outChannels / (options.groups ?? 1), ...sizes] as const;
    const parameters = weights(shape, outChannels, bias);
    this.weight = parameters.weight;
    this.bias = parameters.bias;
    this.options = options;
  }
}

/** The input gradient of Conv1d: [n, in, length] → [n, out, length']; weight [in, out / groups, k]. */
export class ConvTranspose1d extends TransposedConvolution<Single> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Single | (ConvTranspose1dLayerOptions & KernelOption<Single>),
    options: ConvTranspose1dLayerOptions = {},
    ...surplus: []
  ) {
    super('ConvTranspose1d', inChannels, outChannels, kernel, options, 1, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    return convTranspose1d(input, this.weight, this.bias, this.options);
  }
}

/** The input gradient of Conv2d: [n, in, h, w] → [n, out, h', w']; weight [in, out / groups, kh, kw]. */
export class ConvTranspose2d extends TransposedConvolution<number | Pair> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: number | Pair | (ConvTranspose2dLayerOptions & KernelOption<number | Pair>),
    options: ConvTranspose2dLayerOptions = {},
    ...surplus: []
  ) {
    super('ConvTranspose2d', inChannels, outChannels, kernel, options, 2, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    return convTranspose2d(input, this.weight, this.bias, this.options);
  }
}

/** The input gradient of Conv3d: [n, in, d, h, w] → [n, out, d', h', w']; weight [in, out / groups, kd, kh, kw]. */
export class ConvTranspose3d extends TransposedConvolution<number | Triple> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: number | Triple | (ConvTranspose3dLayerOptions & KernelOption<number | Triple>),
    options: ConvTranspose3dLayerOptions = {},
    ...surplus: []
  ) {
    super('ConvTranspose3d', inChannels, outChannels, kernel, options, 3, ...surplus);
  }

  override forward(input: Tensor): Tensor {
    return convTranspose3d(input, this.weight, this.bias, this.options);
  }
}

function expectGroups(name: string, channels: readonly number[], groups = 1): void {
  if (channels.every((each) => each % groups === 0)) return;
  throw new ArgumentError({
    what: `${name}: the channels can't be divided among the groups`,
    given: `${channels.join(' and ')} channels, ${groups} groups`,
    expected: 'numbers of channels that are multiples of the groups',
    remedy: 'change one of them',
  });
}
