import type { Tap } from './geometry.ts';
import type { ConvShape } from './shape.ts';

/** Returns the kernel positions, and what they read for the first result. */
export function forwardTaps({ kernel, dilation, padding }: ConvShape): Tap[] {
  const taps: Tap[] = [];
  for (let h = 0; h < kernel[0]; h++) {
    for (let w = 0; w < kernel[1]; w++) {
      const row = h * dilation[0] - padding[0];
      taps.push({ index: h * kernel[1] + w, row, column: w * dilation[1] - padding[1] });
    }
  }
  return taps;
}

/**
 * Returns the positions that the input gradient reads at every stride-th row and column from `phase` on: of the
 * reversed taps, those that meet an element of the output's gradient rather than an inserted zero.
 */
export function gradientTaps(shape: ConvShape, phase: readonly [number, number]): Tap[] {
  const { kernel, dilation, padding, stride } = shape;
  const source = (d: 0 | 1, at: number): number =>
    (phase[d] + (at + 1 - kernel[d]) * dilation[d] + padding[d]) / stride[d];
  const taps: Tap[] = [];
  for (let h = 0; h < kernel[0]; h++) {
    const row = source(0, h);
    if (!Number.isInteger(row)) continue;
    for (let w = 0; w < kernel[1]; w++) {
      const column = source(1, w);
      if (Number.isInteger(column)) taps.push({ index: h * kernel[1] + w, row, column });
    }
  }
  return taps;
}
