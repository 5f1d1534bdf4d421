/**
 * Tokens in stripes and back. JavaScript computes sizes from the tensors' shapes in every function; there the graph can
 * be broken, as arithmetic outside the framework would.
 */

import { breakGraph, type Tensor } from '../../src/index.ts';

/** A stripe of a square image. */
export interface Stripe {
  readonly height: number;
  readonly width: number;
  /** Whether to break the graph at arithmetic in JavaScript. */
  readonly breaks: boolean;
}

/** The side of the square formed by the tokens. */
export function sideOf(tokens: number, breaks: boolean): number {
  if (breaks) breakGraph();
  return Math.floor(Math.sqrt(tokens));
}

/** [n, tokens, d] → [n, d, rows, height, columns, width], views only. */
function striped(x: Tensor, { height, width, breaks }: Stripe): Tensor {
  const [n, tokens, d] = x.shape as [number, number, number];
  const side = sideOf(tokens, breaks);
  const image = x.transpose(1, 2).reshape([n, d, side, side]);
  return image.reshape([n, d, side / height, height, side / width, width]);
}

/** Queries and keys: [n, tokens, d] → [windows, heads, tokens of a window, d / heads]. */
export function toHeads(x: Tensor, stripe: Stripe, heads: number): Tensor {
  const d = x.shape[2]!;
  const area = stripe.height * stripe.width;
  const windows = striped(x, stripe).permute([0, 2, 4, 3, 5, 1]).reshape([-1, area, d]);
  return windows.reshape([-1, area, heads, d / heads]).permute([0, 2, 1, 3]);
}

/** Values: [n, tokens, d] → images of windows [windows, d, height, width]. */
export function toImages(x: Tensor, stripe: Stripe): Tensor {
  const d = x.shape[2]!;
  return striped(x, stripe)
    .permute([0, 2, 4, 1, 3, 5])
    .reshape([-1, d, stripe.height, stripe.width]);
}

/** [windows, d, height, width] → [windows, heads, height · width, d / heads] */
export function headsOf(images: Tensor, heads: number): Tensor {
  const [windows, d, height, width] = images.shape as [number, number, number, number];
  return images.reshape([windows, heads, d / heads, height * width]).permute([0, 1, 3, 2]);
}

/** Windows [windows, heads, area, d / heads] → tokens [n, tokens, d] of images with this side. */
export function toTokens(heads: Tensor, { height, width, breaks }: Stripe, side: number): Tensor {
  const [windows, count, area, size] = heads.shape as [number, number, number, number];
  const d = count * size;
  if (breaks) breakGraph();
  const n = Math.floor(windows / ((side * side) / height / width));
  return heads
    .permute([0, 2, 1, 3])
    .reshape([windows, area, d])
    .reshape([n, side / height, side / width, height, width, d])
    .permute([0, 1, 3, 2, 4, 5])
    .reshape([n, side, side, d])
    .reshape([n, side * side, d]);
}
