/** Bytes of one device, before and after; exact, since every block is counted with its alignment. */

import { sizeOf } from '../../runtime/spec/shape.ts';
import { deviceGuard, memory, type Tensor, tensor } from '../../src/index.ts';
import { spread } from '../ops/eager.ts';

export const devices = ['cpu', 'meta'] as const;
export type DeviceName = (typeof devices)[number];

export const bytesNow = (device: DeviceName = 'cpu'): number => memory.stats(device).allocated;

export interface Measured<T> {
  readonly result: T;
  /** Bytes that are still there afterwards, and the most at once, above what was there before. */
  readonly kept: number;
  readonly peak: number;
}

export function measure<T>(body: () => T, device: DeviceName = 'cpu'): Measured<T> {
  memory.reset(device);
  const before = bytesNow(device);
  const result = body();
  const { allocated, peakAllocated } = memory.stats(device);
  return { result, kept: allocated - before, peak: peakAllocated - before };
}

/** The same values on every device that has values. */
export function data(shape: number[], options: { readonly salt?: number } = {}): Tensor {
  return tensor(spread(shape, options.salt ?? 0), { shape });
}

/** Bytes of a float32 tensor of the shape; the shapes of these tests fill whole blocks. */
export function bytesOf(...shape: number[]): number {
  const bytes = sizeOf(shape) * 4;
  if (bytes % 64 !== 0) throw new Error(`${bytes} bytes don't fill whole blocks`);
  return bytes;
}

export const on = deviceGuard;
