import type { Attrs } from '../../ops/define-op.ts';
import type { TensorMeta } from '../../tensor/meta.ts';
import type { Launch } from '../device.ts';
import { type ConvShape, convShape } from './conv-shape.ts';
import { heap } from './heap.ts';
import { addressOf, expectContiguous, type KernelFactory } from './kernel.ts';
import { Patches } from './patches.ts';
import * as scalar from './scalar/conv.ts';
import {
  columnTableAt,
  panelAAt,
  panelBAt,
  rowTableAt,
  weightLaneTableAt,
  weightRowTableAt,
} from './scratch.ts';
import { gemmKernels, onto } from './wasm/gemm-kernels.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { blockK, blockM, blockN } from './wasm/product-blocks.ts';

/** Calls `body` for [from, from + length) with steps of `step`. */
function forEachBlock(
  length: number,
  step: number,
  body: (from: number, size: number) => void,
): void {
  for (let from = 0; from < length; from += step) body(from, Math.min(step, length - from));
}

/** The left factor of a convolution: rows `laneStep` bytes apart, element k at byte `offset(k)`. */
interface Weights {
  readonly rows: number;
  readonly laneStep: number;
  readonly offset: (k: number) => number;
}

/**
 * out[n] = weights · patches(image[n]) for every image and group. The images are the innermost loop but
 * one: tables and packed weights of a block serve all of them.
 */
function convolve(
  patches: Patches,
  weights: Weights,
  count: { readonly batch: number; readonly groups: number },
): ((image: number, weight: number, out: number) => void) | null {
  const blocks = patches.blocks(blockK, blockN);
  if (!blocks) return null;
  const { packTableA, packTableB, multiplyPanels } = gemmKernels();
  const { channels, size } = patches.shape;
  const { batch, groups } = count;
  const imageBytes = channels * size[0] * size[1] * 4;
  const rowBytes = patches.columns * 4;
  const outBytes = weights.rows * rowBytes;
  const isOneBlock = weights.rows <= blockM;
  const weightBytes = weights.rows * patches.rows * 4;

  const packWeights = (weight: number, row: number, rows: number, k: number, depth: number) => {
    const words = heap.i32;
    for (let i = 0; i < rows; i++) {
      words[weightLaneTableAt / 4 + i] = (row + i) * weights.laneStep;
    }
    for (let i = 0; i < depth; i++) words[weightRowTableAt / 4 + i] = weights.offset(k + i);
    packTableA(panelAAt, weight, weightLaneTableAt, rows, weightRowTableAt, depth);
  };

  const runBlock = (
    [image, weight, out]: readonly [number, number, number],
    [k, depth]: readonly [number, number],
    [column, columns]: readonly [number, number],
  ): void => {
    const block = { row: k, rows: depth, column, columns };
    const place = patches.bindBlock(block, rowTableAt, columnTableAt);
    if (isOneBlock) packWeights(weight, 0, weights.rows, k, depth);
    for (let n = 0; n < batch; n++) {
      const from = place(image + n * groups * imageBytes);
      packTableB(panelBAt, from, columnTableAt, columns, rowTableAt, depth);
      const to = out + n * groups * outBytes + column * 4;
      forEachBlock(weights.rows, blockM, (row, rows) => {
        if (!isOneBlock) packWeights(weight, row, rows, k, depth);
        const start = to + row * rowBytes;
        multiplyPanels(panelAAt, panelBAt, start, rows, columns, depth, rowBytes, k > 0 ? 1 : 0);
      });
    }
  };

  return (image, weight, out) => {
    for (let g = 0; g < groups; g++) {
      const at = [image + g * imageBytes, weight + g * weightBytes, out + g * outBytes] as const;
      forEachBlock(patches.columns, blocks.columns, (column, columns) => {
        forEachBlock(patches.rows, blocks.rows, (k, depth) => {
          runBlock(at, [k, depth], [column, columns]);
        });
      });
    }
  };
}

function forwardPatches(shape: ConvShape): Patches {
  return new Patches({
    channels: shape.inChannels,
    size: shape.inSize,
    kernel: shape.kernel,
    dilation: shape.dilation,
    positions: shape.outSize,
    stride: shape.stride,
    padding: shape.padding,
    spread: [1, 1],
  });
}

const isGenerated = ({ dtype }: TensorMeta): boolean => hasSimd && dtype === 'float32';

export const conv2d: KernelFactory = (inputs, outputs, attrs) => {
  const [x, w] = inputs;
  const [out] = outputs;
  if (!isGenerated(out!)) return scalar.conv2d(inputs, outputs, attrs);
  expectContiguous(x!, w!, out!);
  const shape = convShape(x!, w!, out!, attrs);
  const patches = forwardPatches(shape);
  const weights = {
    rows: shape.outChannels,
    laneStep: patches.rows * 4,
    offset: (k: number) => k * 4,
  };
  const run = convolve(patches, weights, shape);
  if (!run) return scalar.conv2d(inputs, outputs, attrs);
  return launchOf(run);
};

/**
 * The same product with the output's gradient as the image: spread by the stride, padded so that every
 * kernel position that touched an element does so again, the taps in reverse order.
 */
export const conv2dInputGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, w, x] = inputs;
  const [dx] = outputs;
  if (!isGenerated(dx!)) return scalar.conv2dInputGrad(inputs, outputs, attrs);
  expectContiguous(dy!, w!, dx!);
  const shape = convShape(x!, w!, dy!, attrs);
  const { kernel, dilation, padding, inChannels, outChannels } = shape;
  const patches = new Patches({
    channels: outChannels,
    size: shape.outSize,
    kernel,
    dilation,
    positions: shape.inSize,
    stride: [1, 1],
    padding: [
      dilation[0] * (kernel[0] - 1) - padding[0],
      dilation[1] * (kernel[1] - 1) - padding[1],
    ],
    spread: shape.stride,
  });
  const taps = kernel[0] * kernel[1];
  const weights = {
    rows: inChannels,
    laneStep: taps * 4,
    offset: (k: number) => {
      const channel = Math.floor(k / taps);
      return (channel * inChannels * taps + taps - 1 - (k % taps)) * 4;
    },
  };
  const run = convolve(patches, weights, shape);
  if (!run) return scalar.conv2dInputGrad(inputs, outputs, attrs);
  return launchOf(run);
};

/** The input's gradient of the convolution that makes x out of the result. */
export const convTranspose2d: KernelFactory = ([x, w], [out], attrs) =>
  conv2dInputGrad([x!, w!, out!], [out!], attrs);

type WeightGrad = (grad: number, image: number, out: number, goesOn: boolean) => void;

/** Null where there is no generated kernel. */
function weightGradOf(
  [dy, x, w]: readonly TensorMeta[],
  [dw]: readonly TensorMeta[],
  attrs: Attrs,
): WeightGrad | null {
  if (!isGenerated(dw!)) return null;
  expectContiguous(dy!, x!, dw!);
  const shape = convShape(x!, w!, dy!, attrs);
  const patches = forwardPatches(shape);
  const blocks = patches.blocks(blockN, blockK);
  if (!blocks) return null;
  const { packA, packTableB, multiplyPanels } = gemmKernels();
  const { batch, groups, inChannels, outChannels, inSize } = shape;
  const gradRow = patches.columns * 4;
  const gradBytes = outChannels * gradRow;
  const imageBytes = inChannels * inSize[0] * inSize[1] * 4;
  const weightRow = patches.rows * 4;

  const runBlock = (
    [grad, image, out]: readonly [number, number, number],
    [row, rows]: readonly [number, number],
    [column, columns]: readonly [number, number],
    place: (image: number) => number,
    isFirst: boolean,
  ): void => {
    packTableB(panelBAt, place(image), rowTableAt, rows, columnTableAt, columns);
    const onTarget = isFirst ? onto.store : onto.add;
    forEachBlock(outChannels, blockM, (channel, count) => {
      const gradAt = grad + column * 4 + channel * gradRow;
      packA(panelAAt, gradAt, count, gradRow, 4, columns);
      const to = out + channel * weightRow + row * 4;
      multiplyPanels(panelAAt, panelBAt, to, count, rows, columns, weightRow, onTarget);
    });
  };

  // Image by image, so that the sum can be done for some images and go on with the next.
  const run = (grad: number, image: number, out: number, goesOn: boolean) => {
    for (let g = 0; g < groups; g++) {
      const ofImage = (n: number) =>
        [
          grad + (n * groups + g) * gradBytes,
          image + (n * groups + g) * imageBytes,
          out + g * outChannels * weightRow,
        ] as const;
      forEachBlock(patches.rows, blocks.rows, (row, rows) => {
        const binders: (() => (image: number) => number)[] = [];
        forEachBlock(patches.columns, blocks.columns, (column, columns) => {
          const block = { row, rows, column, columns };
          binders.push(patches.prepareBlock(block, rowTableAt, columnTableAt));
        });
        const only = binders.length === 1 ? binders[0]!() : null;
        for (let n = 0; n < batch; n++) {
          const at = ofImage(n);
          forEachBlock(patches.columns, blocks.columns, (column, columns) => {
            const isFirst = !goesOn && n === 0 && column === 0;
            const place = only ?? binders[column / blocks.columns]!();
            runBlock(at, [row, rows], [column, columns], place, isFirst);
          });
        }
      });
    }
  };
  return run;
}

/** dw = Σ over images of dy[n] · patches(x[n])ᵀ: the two tables change places. */
export const conv2dWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const run = weightGradOf(inputs, outputs, attrs);
  if (!run) return scalar.conv2dWeightGrad(inputs, outputs, attrs);
  return launchOf((grad, image, out) => run(grad, image, out, false));
};

/** The same onto what other images gave. */
export const addConv2dWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const run = weightGradOf(inputs.slice(1), outputs, attrs);
  if (!run) return scalar.addConv2dWeightGrad(inputs, outputs, attrs);
  const launch = launchOf((grad, image, out) => run(grad, image, out, true));
  return ([, grad, image], out) => launch([grad!, image!], out);
};

/** Two float32 inputs, one output, by address. */
function launchOf(run: (first: number, second: number, out: number) => void): Launch {
  return ([first, second], [out]) => {
    run(addressOf(first!, 'float32'), addressOf(second!, 'float32'), addressOf(out!, 'float32'));
  };
}
