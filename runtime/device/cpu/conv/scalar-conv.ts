import { sizeOf } from '../../../spec/shape.ts';
import { heap } from '../core/heap.ts';
import { expectContiguous, indexOf, type KernelFactory } from '../core/kernel.ts';
import { roundingOf } from '../scalar/reduce.ts';
import { type ConvShape, convShape } from './shape.ts';

/**
 * Calls `body` with the flat indices of every (output, input, weight) triple of the sum, except for those in the
 * padding. The three kernels differ in which of them they write.
 */
function forEachTriple(s: ConvShape, body: (y: number, x: number, w: number) => void): void {
  const [height, width] = s.inSize;
  const [outHeight, outWidth] = s.outSize;
  const [kernelHeight, kernelWidth] = s.kernel;
  const outAll = s.groups * s.outChannels;
  const inAll = s.groups * s.inChannels;
  for (let n = 0; n < s.batch; n++) {
    for (let o = 0; o < outAll; o++) {
      const firstChannel = Math.floor(o / s.outChannels) * s.inChannels;
      for (let oh = 0; oh < outHeight; oh++) {
        for (let ow = 0; ow < outWidth; ow++) {
          const y = ((n * outAll + o) * outHeight + oh) * outWidth + ow;
          for (let c = 0; c < s.inChannels; c++) {
            const plane = (n * inAll + firstChannel + c) * height;
            for (let kh = 0; kh < kernelHeight; kh++) {
              const h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
              if (h < 0 || h >= height) continue;
              for (let kw = 0; kw < kernelWidth; kw++) {
                const w = ow * s.stride[1] - s.padding[1] + kw * s.dilation[1];
                if (w < 0 || w >= width) continue;
                const weight = ((o * s.inChannels + c) * kernelHeight + kh) * kernelWidth + kw;
                body(y, (plane + h) * width + w, weight);
              }
            }
          }
        }
      }
    }
  }
}

export const conv2d: KernelFactory = ([x, w], [out], attrs) => {
  expectContiguous(x!, w!, out!);
  const { dtype } = out!;
  const round = roundingOf(dtype);
  const shape = convShape(x!, w!, out!, attrs);
  const size = sizeOf(out!.shape);
  return ([image, weight], [target]) => {
    const data = heap.view(dtype);
    const [xAt, wAt] = [indexOf(image!, dtype), indexOf(weight!, dtype)];
    const yAt = indexOf(target!, dtype);
    data.fill(0, yAt, yAt + size);
    forEachTriple(shape, (yi, xi, wi) => {
      data[yAt + yi] = data[yAt + yi]! + round(data[xAt + xi]! * data[wAt + wi]!);
    });
  };
};

export const conv2dInputGrad: KernelFactory = ([dy, w, x], [dx], attrs) => {
  expectContiguous(dy!, w!, dx!);
  const { dtype } = dx!;
  const round = roundingOf(dtype);
  const shape = convShape(x!, w!, dy!, attrs);
  const size = sizeOf(dx!.shape);
  return ([grad, weight], [target]) => {
    const data = heap.view(dtype);
    const [yAt, wAt] = [indexOf(grad!, dtype), indexOf(weight!, dtype)];
    const xAt = indexOf(target!, dtype);
    data.fill(0, xAt, xAt + size);
    forEachTriple(shape, (yi, xi, wi) => {
      data[xAt + xi] = data[xAt + xi]! + round(data[yAt + yi]! * data[wAt + wi]!);
    });
  };
};

export const conv2dWeightGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dw] = outputs;
  const { dtype } = dw!;
  const add = addConv2dWeightGrad([dw!, ...inputs], outputs, attrs);
  const size = sizeOf(dw!.shape);
  return ([grad, image], [target]) => {
    const at = indexOf(target!, dtype);
    heap.view(dtype).fill(0, at, at + size);
    add([target!, grad!, image!], [target!]);
  };
};

/** Adds image by image to the existing values. */
export const addConv2dWeightGrad: KernelFactory = ([, dy, x, w], [dw], attrs) => {
  expectContiguous(dy!, x!, dw!);
  const { dtype } = dw!;
  const round = roundingOf(dtype);
  const shape = convShape(x!, w!, dy!, attrs);
  return ([, grad, image], [target]) => {
    const data = heap.view(dtype);
    const [yAt, xAt] = [indexOf(grad!, dtype), indexOf(image!, dtype)];
    const wAt = indexOf(target!, dtype);
    forEachTriple(shape, (yi, xi, wi) => {
      data[wAt + wi] = data[wAt + wi]! + round(data[yAt + yi]! * data[xAt + xi]!);
    });
  };
};
