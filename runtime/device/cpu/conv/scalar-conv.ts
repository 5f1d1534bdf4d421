import { sizeOf } from '../../../spec/shape.ts';
import { hostKernel, hostMethods, type Numbers, type RealView } from '../core/host-kernels.ts';
import { convShape } from './shape.ts';

export const convolutionMethods = hostMethods({
  /**
   * Adds to one of output, input and weight (`into`) the products of the other two, for every term of the convolution
   * outside the padding.
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
    const round = view === 'f32' ? Math.fround : (value: number) => value;
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

/** `order` returns output, input and weight, of which `into` is the result. */
const triples = (
  order: <T>(inputs: readonly T[], outputs: readonly T[]) => readonly (T | undefined)[],
  into: 0 | 1 | 2,
  isAdded = false,
) =>
  hostKernel(convolutionMethods, 'convolution', order, (inputs, outputs, attrs) => {
    const [y, x, w] = order(inputs, outputs);
    const s = convShape(x!, w!, y!, attrs);
    return [
      into,
      isAdded,
      [s.batch, s.groups, s.inChannels, s.outChannels],
      [...s.inSize, ...s.outSize],
      [...s.kernel, ...s.stride, ...s.padding, ...s.dilation],
      sizeOf(outputs[0]!.shape),
    ];
  });

export const conv2d = triples(([x, w], [y]) => [y, x, w], 0);
export const conv2dInputGrad = triples(([dy, w], [dx]) => [dy, dx, w], 1);
export const conv2dWeightGrad = triples(([dy, x], [dw]) => [dy, x, dw], 2);
/** Adds image by image to the existing values. */
export const addConv2dWeightGrad = triples(([, dy, x], [dw]) => [dy, x, dw], 2, true);
