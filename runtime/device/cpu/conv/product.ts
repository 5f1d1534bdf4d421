import { panelABytes } from '../core/scratch.ts';
import { mostParts } from '../threads/control.ts';
import { pool } from '../threads/pool.ts';
import { convKernels } from '../wasm/convolution/conv-kernels.ts';
import { blockN } from '../wasm/product-blocks.ts';
import { ConvGeometry, type ConvSpec } from './geometry.ts';

/** Nanoseconds per multiply-add, by tiles and directly, and minimum per part. */
const perTerm = 0.06;
const perDirectTerm = 0.11;
const leastPart = 20_000;
/** Nanoseconds to prepare the planes of one image and group, which dominate small depthwise ops. */
export const perPlane = 40;
/** The desired number of parts of a convolution, enough for all threads to finish together. */
const wantedParts = 16;
/** The minimum number of weight rows per part, because patches are packed for each. */
const leastRows = 64;

/** A tile with fewer positions takes as long as a full one. */
const wholeTiles = (positions: number): number => Math.ceil(positions / 8) * 8;

/** The number of products, and their steps (in bytes, between groups). */
export interface ConvCounts {
  readonly batch: number;
  readonly groups: number;
  /** Weight rows per group. */
  readonly rows: number;
  readonly steps: { readonly image: number; readonly weight: number; readonly out: number };
}

/** With few rows, packing costs more than it saves. */
function isDirectFor({ groups, rows }: ConvCounts, terms: number, sumRows: number): boolean {
  const isFew = rows <= 2 || (groups > 1 && rows <= 8);
  return isFew && terms <= sumRows && rows * terms * 4 <= panelABytes;
}

/** Returns a geometry and its positions per part; null if no slice fits. */
function fitting(spec: ConvSpec): { geometry: ConvGeometry; columns: number } | null {
  const [height, width] = spec.positions;
  const all = height * width;
  if (spec.isDirect) {
    for (let lines = height; lines >= 1; lines = Math.floor(lines / 2)) {
      const geometry = new ConvGeometry(spec, lines);
      if (geometry.fits) return { geometry, columns: lines * width };
    }
    return null;
  }
  for (let columns = blockN; columns >= 8; columns /= 2) {
    const lines = Math.min(height, Math.ceil(Math.min(columns, all) / width) + 1);
    const geometry = new ConvGeometry(spec, lines);
    if (geometry.fits) return { geometry, columns };
  }
  return null;
}

/** out[n] = weights · patches(image[n]) for every image and group, by address; null if nothing fits into scratch. */
export function convolution(
  given: Omit<ConvSpec, 'isDirect'>,
  counts: ConvCounts,
): ((image: number, weight: number, out: number) => void) | null {
  const { batch, groups, rows, steps } = counts;
  const terms = given.channels * given.taps.length;
  const isDirect = isDirectFor(counts, given.channels * given.tapCount, given.sumRows);
  const spec: ConvSpec = { ...given, isDirect };
  const fit = fitting(spec) ?? (isDirect ? fitting({ ...given, isDirect: false }) : null);
  if (!fit) return null;
  const { geometry, columns } = fit;
  const all = spec.positions[0] * spec.positions[1];
  const blocks = Math.ceil(all / columns);
  const perColumn = rows * terms * (spec.isDirect ? perDirectTerm : perTerm);
  const perImage = wholeTiles(Math.min(columns, all)) * perColumn + perPlane;
  const images = Math.max(1, Math.min(batch, Math.ceil(leastPart / perImage)));
  const parts = groups * blocks * Math.ceil(batch / images);
  // For a few large images, the weights are divided too.
  const height =
    parts < wantedParts && rows >= 2 * leastRows
      ? Math.max(leastRows, Math.ceil((rows * parts) / wantedParts / 4) * 4)
      : rows;
  const work = groups * batch * (wholeTiles(all) * perColumn + perPlane);
  const { convolve } = convKernels();
  const { laneStep } = spec.weights;
  const { step: outStep, channel: outChannel } = spec.out;

  const alone = (image: number, weight: number, out: number): void => {
    for (let column = 0; column < all; column += columns) {
      const width = Math.min(columns, all - column);
      convolve(geometry.at, image, weight, out, batch, column, width, rows);
    }
  };
  const together = (image: number, weight: number, out: number, used: number): number => {
    let count = used;
    const { numbers } = pool;
    for (let column = 0; column < all; column += columns) {
      const width = Math.min(columns, all - column);
      for (let n = 0; n < batch; n += images) {
        for (let row = 0; row < rows; row += height) {
          if (count === mostParts) {
            pool.run(convolve, count, 8);
            count = 0;
          }
          let at = count++ * 8;
          numbers[at++] = geometry.at;
          numbers[at++] = image + n * spec.imageStep;
          numbers[at++] = weight + row * laneStep;
          numbers[at++] = out + n * outStep + row * outChannel;
          numbers[at++] = Math.min(images, batch - n);
          numbers[at++] = column;
          numbers[at++] = width;
          numbers[at++] = Math.min(height, rows - row);
        }
      }
    }
    return count;
  };
  return (image, weight, out) => {
    const isShared = pool.shares(work);
    let count = 0;
    geometry.write();
    for (let g = 0; g < groups; g++) {
      const from = image + g * steps.image;
      const own = weight + g * steps.weight;
      const to = out + g * steps.out;
      if (isShared) count = together(from, own, to, count);
      else alone(from, own, to);
    }
    if (isShared) pool.run(convolve, count, 8);
  };
}
