import { partArgumentsBytes, sharedTables } from '../core/heap.ts';
import { panelABytes } from '../core/scratch.ts';
import { Parts } from '../threads/parts.ts';
import { pool } from '../threads/pool.ts';
import type { GroupSteps } from '../wasm/convolution/conv-code.ts';
import { convKernels } from '../wasm/convolution/conv-kernels.ts';
import { blockN } from '../wasm/product-blocks.ts';
import { ConvGeometry, type ConvSpec } from './geometry.ts';

/** Nanoseconds per multiply-add, by tiles and directly, and minimum per part. */
const perTerm = 0.06;
const perDirectTerm = 0.11;
const leastPart = 20_000;
/** Nanoseconds to prepare the planes of one image and group, which dominate small depthwise ops. */
export const perPlane = 40;
/** The desired number of parts of a convolution: enough for threads to finish at about the same time. */
const mostParts = 16;
/** The minimum number of weight rows per part, because patches are packed for each. */
const leastRows = 64;
/** The minimum number of weight rows per part if there are fewer patches than weights. */
const leastRowsAlone = 24;
/** The minimum nanoseconds of a part of many small groups, which share nothing. */
const leastGroups = 8_000;

/** A tile with fewer positions takes as long as a full one. */
const wholeTiles = (positions: number): number => Math.ceil(positions / 8) * 8;

/** The number of products, and the steps between groups. */
interface ConvCounts {
  readonly batch: number;
  readonly groups: number;
  /** Weight rows per group. */
  readonly rows: number;
  readonly steps: GroupSteps;
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

const arity = 9;

/** A convolution as kernels compute it. */
interface Convolution {
  /** Nanoseconds on one thread. */
  readonly work: number;
  readonly tableBytes: number;
  /** Adds each part to `calls` if it is shared; otherwise computes the result in one call per block of columns. */
  run(
    image: number,
    weight: number,
    out: number,
    tablesAt: number,
    calls: Parts,
    isShared: boolean,
  ): void;
}

/** out[n] = weights · patches(image[n]) for every image and group, by address; null if nothing fits into scratch. */
export function convolution(
  partialSpec: Omit<ConvSpec, 'isDirect' | 'groupSteps'>,
  counts: ConvCounts,
): Convolution | null {
  const { batch, groups, rows, steps } = counts;
  const terms = partialSpec.channels * partialSpec.taps.length;
  const isDirect = isDirectFor(
    counts,
    partialSpec.channels * partialSpec.tapCount,
    partialSpec.sumRows,
  );
  const spec: ConvSpec = { ...partialSpec, isDirect, groupSteps: steps };
  const fit = fitting(spec) ?? (isDirect ? fitting({ ...spec, isDirect: false }) : null);
  if (!fit) return null;
  const { geometry, columns } = fit;
  const all = spec.positions[0] * spec.positions[1];
  const perColumn = rows * terms * (spec.isDirect ? perDirectTerm : perTerm);
  const perImage = wholeTiles(Math.min(columns, all)) * perColumn + perPlane;
  const blocks = Math.ceil(all / columns);
  const divided = partSize(counts, { perImage, positions: all, blocks });
  const whole = { groups, images: batch, rows };
  const args = new Array<number>(arity).fill(0);
  return {
    work: groups * batch * (wholeTiles(all) * perColumn + perPlane),
    tableBytes: geometry.bytes,
    run(image, weight, out, tablesAt, calls, isShared) {
      geometry.write(tablesAt);
      const part = isShared ? divided : whole;
      args[0] = tablesAt;
      for (let g = 0; g < groups; g += part.groups) {
        for (let column = 0; column < all; column += columns) {
          for (let n = 0; n < batch; n += part.images) {
            for (let row = 0; row < rows; row += part.rows) {
              args[1] = image + g * steps.firstStep + n * spec.imageStep;
              args[2] = weight + g * steps.secondStep + row * spec.weights.laneStep;
              args[3] = out + g * steps.resultStep + n * spec.out.step + row * spec.out.channel;
              args[4] = Math.min(part.images, batch - n);
              args[5] = column;
              args[6] = Math.min(columns, all - column);
              args[7] = Math.min(part.rows, rows - row);
              args[8] = Math.min(part.groups, groups - g);
              calls.call(args, isShared);
            }
          }
        }
      }
    },
  };
}

/** Returns the number of groups in a part: one, unless groups take too little time. */
export function groupsOfPart(groups: number, work: number): number {
  if (groups === 1 || work >= groups * leastPart) return 1;
  const parts = Math.max(2, Math.min(mostParts, Math.floor(work / leastGroups)));
  return Math.ceil(groups / parts);
}

interface PartSize {
  readonly groups: number;
  readonly images: number;
  /** Weight rows. */
  readonly rows: number;
}

/**
 * Divides groups, images and, if there are few large ones, rows of weights. Each part packs its weights and its
 * patches: if there are more weights than positions, only the weights are divided. At least two parts; convolutions too
 * small for two aren't shared.
 */
function partSize(
  { batch, groups, rows }: ConvCounts,
  work: { readonly perImage: number; readonly positions: number; readonly blocks: number },
): PartSize {
  const { perImage, positions, blocks } = work;
  const together = groupsOfPart(groups, groups * blocks * batch * perImage);
  const ofRows = groups * blocks === 1 && rows > batch * wholeTiles(positions);
  const images = Math.max(1, Math.min(Math.ceil(batch / 2), Math.ceil(leastPart / perImage)));
  const whole = { groups: together, images: together > 1 || ofRows ? batch : images, rows };
  const parts = groups * blocks * Math.ceil(batch / whole.images);
  const enough = ofRows ? Math.floor((batch * perImage) / leastPart) : mostParts;
  const least = ofRows ? leastRowsAlone : leastRows;
  if (together > 1 || parts >= enough || rows < 2 * least) return whole;
  const most = Math.ceil((rows * parts) / Math.min(mostParts, enough) / 4) * 4;
  return { ...whole, rows: Math.max(least, most) };
}

/** A convolution, and the offset in bytes of its result in the whole result. */
export interface Phase {
  readonly shift: number;
  readonly convolution: Convolution;
}

/** Computes all phases of one result, on several threads as parts of one job if their tables fit. */
export function inOneJob(
  phases: readonly Phase[],
): (image: number, weight: number, out: number) => void {
  const work = phases.reduce((sum, { convolution }) => sum + convolution.work, 0);
  const bytes = phases.reduce((sum, { convolution }) => sum + convolution.tableBytes, 0);
  const fit = bytes <= partArgumentsBytes;
  const calls = new Parts(convKernels().convolveGroups, arity);
  return (image, weight, out) => {
    const isShared = pool.shares(work);
    let tablesAt = sharedTables.at;
    for (const { shift, convolution } of phases) {
      convolution.run(image, weight, out + shift, tablesAt, calls, isShared);
      if (isShared && fit) tablesAt += convolution.tableBytes;
      else calls.run();
    }
    calls.run();
  };
}
