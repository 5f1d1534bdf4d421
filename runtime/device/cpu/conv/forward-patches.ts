import { Patches } from './patches.ts';
import type { ConvShape } from './shape.ts';

/** Returns the patches of a convolution's image. */
export function forwardPatches(shape: ConvShape): Patches {
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

/**
 * Returns the patches of the input gradient: the image is the output's gradient, spread by the stride and padded so
 * that each kernel position covers the elements it contributed to; the taps are reversed.
 */
export function inputGradPatches(shape: ConvShape): Patches {
  const { kernel, dilation, padding } = shape;
  const before = (d: 0 | 1): number => dilation[d] * (kernel[d] - 1) - padding[d];
  return new Patches({
    channels: shape.outChannels,
    size: shape.outSize,
    kernel,
    dilation,
    positions: shape.inSize,
    stride: [1, 1],
    padding: [before(0), before(1)],
    spread: shape.stride,
  });
}
