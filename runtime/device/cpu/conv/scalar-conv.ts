import { sizeOf } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import {
  hostCalls,
  hostMethods,
  type Numbers,
  placesOf,
  type RealView,
  realViewOf,
} from '../core/host-kernels.ts';
import { expectContiguous, type KernelFactory } from '../core/kernel.ts';
import { convShape } from './shape.ts';

export const convolutionMethods = hostMethods({
  /**
   * Adds to one of output, input and weight, `into`, the products of the other two, for every triple of the sum except
   * for those in the padding.
   */
  convolution(
    view: RealView,
    at: Numbers,
    into: number,
    isAdded: boolean,
    [batch, groups, channels, outChannels]: Numbers,
    [height, width, outHeight, outWidth]: Numbers,
    [kernelHeight, kernelWidth, strideH, strideW, top, left, dilationH, dilationW]: Numbers,
    size: number,
  ): void {
    const data = this[view];
    const round = this.rounding(view);
    const [yAt, xAt, wAt] = at as [number, number, number];
    const first = at[into]!;
    if (!isAdded) data.fill(0, first, first + size);
    const outAll = groups! * outChannels!;
    for (let n = 0; n < batch!; n++) {
      for (let o = 0; o < outAll; o++) {
        const firstPlane = n * groups! * channels! + Math.floor(o / outChannels!) * channels!;
        for (let oh = 0; oh < outHeight!; oh++) {
          for (let ow = 0; ow < outWidth!; ow++) {
            const y = yAt + ((n * outAll + o) * outHeight! + oh) * outWidth! + ow;
            for (let c = 0; c < channels!; c++) {
              const plane = xAt + (firstPlane + c) * height! * width!;
              const kernel = wAt + (o * channels! + c) * kernelHeight! * kernelWidth!;
              for (let kh = 0; kh < kernelHeight!; kh++) {
                const h = oh * strideH! - top! + kh * dilationH!;
                if (h < 0 || h >= height!) continue;
                for (let kw = 0; kw < kernelWidth!; kw++) {
                  const v = ow * strideW! - left! + kw * dilationW!;
                  if (v < 0 || v >= width!) continue;
                  const x = plane + h * width! + v;
                  const w = kernel + kh * kernelWidth! + kw;
                  if (into === 0) data[y] = data[y]! + round(data[x]! * data[w]!);
                  else if (into === 1) data[x] = data[x]! + round(data[y]! * data[w]!);
                  else data[w] = data[w]! + round(data[y]! * data[x]!);
                }
              }
            }
          }
        }
      }
    }
  },
});

/** `from` has the index of each operand of output, input and weight; null is the result. */
function triples(
  metas: readonly [y: TensorMeta, x: TensorMeta, w: TensorMeta],
  from: readonly (number | null)[],
  attrs: Attrs,
  isAdded = false,
): Launch {
  expectContiguous(...metas);
  const into = from.indexOf(null);
  const [y, x, w] = metas;
  const s = convShape(x, w, y, attrs);
  const size = sizeOf(metas[into]!.shape);
  const view = realViewOf(y.dtype);
  const channels = [s.batch, s.groups, s.inChannels, s.outChannels];
  const sizes = [...s.inSize, ...s.outSize];
  const windows = [...s.kernel, ...s.stride, ...s.padding, ...s.dilation];
  const shape = [into, isAdded, channels, sizes, windows, size] as const;
  return (sources, [target]) => {
    const operands = from.map((index) => (index === null ? target! : sources[index]!));
    hostCalls.call(convolutionMethods, 'convolution', view, placesOf(operands, metas), ...shape);
  };
}

export const conv2d: KernelFactory = ([x, w], [y], attrs) =>
  triples([y!, x!, w!], [null, 0, 1], attrs);

export const conv2dInputGrad: KernelFactory = ([dy, w], [dx], attrs) =>
  triples([dy!, dx!, w!], [0, null, 1], attrs);

export const conv2dWeightGrad: KernelFactory = ([dy, x], [dw], attrs) =>
  triples([dy!, x!, dw!], [0, 1, null], attrs);

/** Adds image by image to the existing values. */
export const addConv2dWeightGrad: KernelFactory = ([, dy, x], [dw], attrs) =>
  triples([dy!, x!, dw!], [1, 2, null], attrs, true);
