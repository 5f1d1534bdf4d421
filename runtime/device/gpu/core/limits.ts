/** Limits of gpu.js and WebGPU. Separate from gpu.js itself, which is loaded only on request. */

import type { TensorMeta } from '../../tensor-meta.ts';

/** WebGPU guarantees 8 storage buffers per shader, and gpu.js requests no more; one is the output. */
export const maxArrays = 7;

/** gpu.js computes indices in float32, which represents integers exactly up to here. Our own kernels use integers. */
export const maxElements = 2 ** 24;

/** The largest buffer, and the source of the limit. */
export interface BufferLimit {
  readonly maxBufferBytes: number;
  readonly limitedBy: string;
}

/** Returns the limit if gpu.js kernels may process every tensor. */
export function gpuJsLimit(elementBytes: number): BufferLimit {
  return {
    maxBufferBytes: maxElements * elementBytes,
    limitedBy: 'kernels of gpu.js number at most 2^24 elements',
  };
}

/** Whether gpu.js can index the elements between a tensor's first and last one. */
export function fitsGpuJs({ shape, strides }: TensorMeta): boolean {
  const last = shape.reduce((sum, size, d) => sum + Math.max(0, size - 1) * strides[d]!, 0);
  return last < maxElements;
}
