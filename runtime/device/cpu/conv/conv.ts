import type { Launch } from '../../device.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import { addressOf, expectContiguous, type KernelFactory } from '../core/kernel.ts';
import { fillBytes } from '../movement/bytes.ts';
import { hasSimd } from '../wasm/assembler/module-builder.ts';
import { blockK, blockN } from '../wasm/product-blocks.ts';
import { forwardPatches, inputGradPatches } from './forward-patches.ts';
import type { ConvSpec } from './geometry.ts';
import { oncePerShape } from './once-per-shape.ts';
import { convolution, inOneJob, type Phase } from './product.ts';
import * as scalar from './scalar-conv.ts';
import { convShape } from './shape.ts';
import { forwardTaps, gradientTaps } from './taps.ts';
import type { WeightGrad } from './weight-blocks.ts';
import { weightGrad } from './weight-grad.ts';

const isGenerated = ({ dtype }: TensorMeta): boolean => hasSimd && dtype === 'float32';

type Run = (image: number, weight: number, out: number) => void;

/** Returns null if nothing fits into scratch memory. */
const forward = oncePerShape((shape): Run | null => {
  const { batch, groups, inChannels, outChannels, inSize, outSize, kernel } = shape;
  const blocks = forwardPatches(shape).blocks(blockK, blockN);
  if (!blocks) return null;
  const taps = kernel[0] * kernel[1];
  const plane = outSize[0] * outSize[1] * 4;
  const spec: Omit<ConvSpec, 'isDirect' | 'groupSteps'> = {
    channels: inChannels,
    size: inSize,
    imageStep: groups * inChannels * inSize[0] * inSize[1] * 4,
    tapCount: taps,
    taps: forwardTaps(shape),
    positions: outSize,
    stride: shape.stride,
    sumRows: blocks.rows,
    weights: { laneStep: inChannels * taps * 4, offset: (row) => row * 4 },
    out: { step: groups * outChannels * plane, channel: plane, line: outSize[1] * 4, position: 4 },
  };
  const steps = {
    firstStep: inChannels * inSize[0] * inSize[1] * 4,
    secondStep: outChannels * inChannels * taps * 4,
    resultStep: outChannels * plane,
  };
  const whole = convolution(spec, { batch, groups, rows: outChannels, steps });
  return whole && inOneJob([{ shift: 0, convolution: whole }]);
});

export const conv2d: KernelFactory = (inputs, outputs, attrs) => {
  const [x, w] = inputs;
  const [out] = outputs;
  if (!isGenerated(out!)) return scalar.conv2d(inputs, outputs, attrs);
  expectContiguous(x!, w!, out!);
  const run = forward(convShape(x!, w!, out!, attrs));
  return run ? launchOf(run) : scalar.conv2d(inputs, outputs, attrs);
};

/**
 * The input gradient as a convolution of the output's gradient. With strides, positions that are equal modulo the
 * stride use the same taps, so each such phase is a convolution without strides.
 */
const inputGrad = oncePerShape((shape): Run | null => {
  const { batch, groups, inChannels, outChannels, inSize, outSize, kernel, stride } = shape;
  const blocks = inputGradPatches(shape).blocks(blockK, blockN);
  if (!blocks) return null;
  const taps = kernel[0] * kernel[1];
  const plane = inSize[0] * inSize[1] * 4;
  const steps = {
    firstStep: outChannels * outSize[0] * outSize[1] * 4,
    secondStep: outChannels * inChannels * taps * 4,
    resultStep: inChannels * plane,
  };
  const phases: Phase[] = [];
  let isWhole = true;
  for (let h = 0; h < Math.min(stride[0], inSize[0]); h++) {
    for (let v = 0; v < Math.min(stride[1], inSize[1]); v++) {
      const met = gradientTaps(shape, [h, v]);
      if (met.length === 0) {
        isWhole = false;
        continue;
      }
      const spec: Omit<ConvSpec, 'isDirect' | 'groupSteps'> = {
        channels: outChannels,
        size: outSize,
        imageStep: groups * steps.firstStep,
        tapCount: taps,
        taps: met,
        positions: [Math.ceil((inSize[0] - h) / stride[0]), Math.ceil((inSize[1] - v) / stride[1])],
        stride: [1, 1],
        sumRows: blocks.rows,
        weights: {
          laneStep: taps * 4,
          offset: (row) => {
            const channel = Math.floor(row / taps);
            return (channel * inChannels * taps + taps - 1 - (row % taps)) * 4;
          },
        },
        out: {
          step: groups * steps.resultStep,
          channel: plane,
          line: stride[0] * inSize[1] * 4,
          position: stride[1] * 4,
        },
      };
      const phase = convolution(spec, { batch, groups, rows: inChannels, steps });
      if (!phase) return null;
      phases.push({ shift: (h * inSize[1] + v) * 4, convolution: phase });
    }
  }
  const bytes = batch * groups * steps.resultStep;
  const run = inOneJob(phases);
  return (image, weight, out) => {
    if (!isWhole) fillBytes(out, bytes);
    run(image, weight, out);
  };
});

export const conv2dInputGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, w, x] = inputs;
  const [dx] = outputs;
  if (!isGenerated(dx!)) return scalar.conv2dInputGrad(inputs, outputs, attrs);
  expectContiguous(dy!, w!, dx!);
  const run = inputGrad(convShape(x!, w!, dy!, attrs));
  return run ? launchOf(run) : scalar.conv2dInputGrad(inputs, outputs, attrs);
};

/** The input gradient of the convolution that maps the result to x. */
export const convTranspose2d: KernelFactory = ([x, w], [out], attrs) =>
  conv2dInputGrad([x!, w!, out!], [out!], attrs);

const weights = oncePerShape(weightGrad);

/** Returns null if there is no generated kernel. */
function weightGradOf(
  [dy, x, w]: readonly TensorMeta[],
  [dw]: readonly TensorMeta[],
  attrs: Parameters<KernelFactory>[2],
): WeightGrad | null {
  if (!isGenerated(dw!)) return null;
  expectContiguous(dy!, x!, dw!);
  return weights(convShape(x!, w!, dy!, attrs));
}

export const conv2dWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const run = weightGradOf(inputs, outputs, attrs);
  if (!run) return scalar.conv2dWeightGrad(inputs, outputs, attrs);
  return launchOf((grad, image, out) => run(grad, image, out, false));
};

/** Adds these images' weight gradient to that of other images. */
export const addConv2dWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const run = weightGradOf(inputs.slice(1), outputs, attrs);
  if (!run) return scalar.addConv2dWeightGrad(inputs, outputs, attrs);
  const launch = launchOf((grad, image, out) => run(grad, image, out, true));
  return ([, grad, image], out) => launch([grad!, image!], out);
};

/** Launches a run with two float32 inputs and one output, by address. */
function launchOf(run: Run): Launch {
  return ([first, second], [out]) => {
    run(addressOf(first!, 'float32'), addressOf(second!, 'float32'), addressOf(out!, 'float32'));
  };
}
