/** The limits of gpu.js and WebGPU. Apart from gpu.js itself, which is loaded only when asked for. */

import type { TensorMeta } from '../../tensor-meta.ts';

/** WebGPU guarantees 8 storage buffers per shader, and gpu.js asks for no more; one is the output. */
export const maxArrays = 7;

/** gpu.js computes indices in float32: whole numbers are exact up to here. Kernels of our own count in integers. */
export const maxElements = 2 ** 24;

/** The largest buffer, and what sets the limit. */
export interface BufferLimit {
  readonly maxBufferBytes: number;
  readonly limitedBy: string;
}

/** The limit where a kernel of gpu.js may meet every tensor. */
export function gpuJsLimit(elementBytes: number): BufferLimit {
  return {
    maxBufferBytes: maxElements * elementBytes,
    limitedBy: 'kernels of gpu.js number at most 2^24 elements',
  };
}

/** Whether gpu.js can number the elements between a tensor's first and last one. */
export function fitsGpuJs({ shape, strides }: TensorMeta): boolean {
  const last = shape.reduce((sum, size, d) => sum + Math.max(0, size - 1) * strides[d]!, 0);
  return last < maxElements;
}
