import { imageBytes } from '../core/scratch.ts';
import { Parts } from '../threads/parts.ts';
import { pool } from '../threads/pool.ts';
import { convKernels } from '../wasm/convolution/conv-kernels.ts';
import { vectorsAtOnce } from '../wasm/convolution/direct-rows.ts';
import { blockK, blockN } from '../wasm/product-blocks.ts';
import { forwardPatches } from './forward-patches.ts';
import { ConvGeometry, type ConvSpec, type SliceSize } from './geometry.ts';
import { groupsOfPart, perPlane } from './product.ts';
import type { ConvShape } from './shape.ts';
import { forwardTaps } from './taps.ts';
import { type WeightGrad, weightGradByBlocks } from './weight-blocks.ts';

/** Nanoseconds per multiply-add, by tiles and directly, and minimum per part. */
const perTerm = 0.06;
const perDirectTerm = 0.11;
const leastPart = 20_000;

/** The minimum number of patch rows per part, because the output's gradient is packed for each. */
const leastRows = 48;

/**
 * If there are fewer parts than this, output channels are divided, too: at least so many each, because each part packs
 * patches.
 */
const fewParts = 4;
const leastChannels = 8;

/** The patch rows, of whole channels, that one part sums. */
interface RowRange {
  readonly first: number;
  readonly rows: number;
  readonly channel: number;
  readonly channels: number;
}

/** With so few channels, most of a tiled product would be discarded. */
function isDirectFor({ outChannels, groups, dilation }: ConvShape): boolean {
  return dilation[1] === 1 && (outChannels <= 2 || (groups > 1 && outChannels <= 4));
}

/** Returns the patch rows as vectors of up to four taps of one kernel row: offset, position in the result, taps. */
function vectorsOf({ inChannels, kernel, dilation }: ConvShape, slice: SliceSize): number[] {
  const words: number[] = [];
  for (let channel = 0; channel < inChannels; channel++) {
    for (let row = 0; row < kernel[0]; row++) {
      for (let column = 0; column < kernel[1]; column += 4) {
        const offset = channel * slice.plane + (row * dilation[0] * slice.width + column) * 4;
        const to = ((channel * kernel[0] + row) * kernel[1] + column) * 4;
        words.push(offset, to, Math.min(4, kernel[1] - column));
      }
    }
  }
  while ((words.length / 3) % vectorsAtOnce !== 0) words.push(words.at(-3)!, 0, 0);
  return words;
}

/** Returns the byte offset of each position from the first one in the slice. */
function columnsOf({ outSize, stride }: ConvShape, { width }: SliceSize): number[] {
  const words: number[] = [];
  for (let line = 0; line < outSize[0]; line++) {
    for (let position = 0; position < outSize[1]; position++) {
      words.push((line * stride[0] * width + position * stride[1]) * 4);
    }
  }
  return words;
}

/**
 * dw (+)= Σ dy[n] · patches(x[n])ᵀ, image by image, so that the sum can be interrupted between images; for each image
 * over blocks of positions. Parts are ranges of patch rows. Null if there is no generated kernel.
 */
export function weightGrad(shape: ConvShape): WeightGrad | null {
  const { batch, groups, inChannels, outChannels, inSize, outSize, kernel } = shape;
  const blocks = forwardPatches(shape).blocks(blockN, blockK);
  if (!blocks) return null;
  const taps = kernel[0] * kernel[1];
  const columns = outSize[0] * outSize[1];
  // Vectors cover all channels, so their slice has to fit.
  const [height, width] = [0, 1].map((d) => {
    return (outSize[d]! - 1) * shape.stride[d]! + (kernel[d]! - 1) * shape.dilation[d]! + 1;
  }) as [number, number];
  const isDirect = isDirectFor(shape) && inChannels * height * width * 4 <= imageBytes;
  const rowBytes = inChannels * taps * 4;
  const spec: ConvSpec = {
    channels: inChannels,
    size: inSize,
    imageStep: groups * inChannels * inSize[0] * inSize[1] * 4,
    tapCount: taps,
    taps: forwardTaps(shape),
    positions: outSize,
    stride: shape.stride,
    // Tables cover whole channels; a slice contains those of one part.
    sumRows: taps,
    weights: { laneStep: 0, offset: () => 0 },
    out: { step: groups * outChannels * columns * 4, channel: rowBytes, line: 0, position: 0 },
    isDirect,
    readsPast: true,
    groupSteps: {
      firstStep: outChannels * columns * 4,
      secondStep: inChannels * inSize[0] * inSize[1] * 4,
      resultStep: outChannels * rowBytes,
    },
  };
  let slicePlane = 0;
  const geometry = new ConvGeometry(spec, outSize[0], (slice) => {
    slicePlane = slice.plane;
    return [...columnsOf(shape, slice), ...(isDirect ? vectorsOf(shape, slice) : [])];
  });
  if (!geometry.fits) return weightGradByBlocks(shape);
  const most = Math.floor(imageBytes / slicePlane);
  // A single thread packs the output's gradient as rarely as possible.
  const wide = rowRanges(shape, taps, isDirect, most, blockN);
  const narrow = rowRanges(shape, taps, isDirect, most, leastRows);
  const terms = outChannels * columns * inChannels * taps;
  const work = batch * groups * (terms * (isDirect ? perDirectTerm : perTerm) + perPlane);
  const outputRanges = isDirect ? 1 : outputParts(groups * narrow.length, outChannels, work);
  const parts = new Parts(convKernels().convolveGroupsWeightGrad, 15);
  const vectorsAt = geometry.moreAt + columns * 4;
  const { secondStep } = spec.groupSteps;
  const together = groupsOfPart(groups, work);
  const { at, moreAt } = geometry;
  // Zeros are set for each call.
  const args = [at, 0, 0, 0, batch, 0, 0, 0, 0, 0, moreAt, columns, blocks.columns, 0, 0];
  const isDivisible = Math.ceil(groups / together) * narrow.length * outputRanges > 1;
  const run = (grad: number, image: number, out: number, accumulates: boolean): void => {
    const isShared = isDivisible && pool.shares(work);
    const ranges = isShared ? narrow : wide;
    const height = isShared ? Math.ceil(outChannels / outputRanges / 4) * 4 : outChannels;
    const atOnce = isShared ? together : groups;
    geometry.write();
    for (let g = 0; g < groups; g += atOnce) {
      for (let i = 0; i < ranges.length; i++) {
        const { first, rows, channel, channels } = ranges[i]!;
        for (let from = 0; from < outChannels; from += height) {
          const row = g * outChannels + from;
          args[1] = grad + row * columns * 4;
          args[2] = image + g * secondStep;
          args[3] = out + row * rowBytes;
          args[5] = first;
          args[6] = rows;
          args[7] = channel;
          args[8] = channels;
          args[9] = Math.min(height, outChannels - from);
          args[13] = Number(accumulates);
          args[14] = Math.min(atOnce, groups - g);
          parts.call(args, isShared);
        }
      }
    }
    parts.run();
  };
  // The direct kernel reads a row table of vectors.
  if (isDirect) geometry.setRowTable(vectorsAt);
  return run;
}

/** Returns the number of parts of the output channels, so that threads finish at about the same time. */
function outputParts(parts: number, outChannels: number, work: number): number {
  const enough = Math.ceil(fewParts / parts);
  const most = Math.min(outChannels / leastChannels, work / parts / leastPart);
  return Math.max(1, Math.min(enough, Math.floor(most)));
}

/** Returns at most `atOnce`, reduced so that a small number of parts is shared evenly by two or four threads. */
function evenly(count: number, atOnce: number): number {
  const parts = Math.ceil(count / atOnce);
  return parts > fewParts ? atOnce : Math.ceil(count / 2 ** Math.ceil(Math.log2(parts)));
}

function rowRanges(
  shape: ConvShape,
  taps: number,
  isDirect: boolean,
  most: number,
  least: number,
): readonly RowRange[] {
  const { batch, inChannels, outChannels, outSize } = shape;
  if (isDirect && inChannels <= most) {
    const count =
      Math.ceil((inChannels * shape.kernel[0] * Math.ceil(shape.kernel[1] / 4)) / 4) * 4;
    return [{ first: 0, rows: count, channel: 0, channels: inChannels }];
  }
  const perRow = batch * outChannels * outSize[0] * outSize[1] * perTerm;
  const enough = Math.max(1, Math.ceil(Math.max(least, leastPart / perRow) / taps));
  const channels = Math.min(
    most,
    Math.max(1, Math.floor(blockN / taps)),
    evenly(inChannels, enough),
  );
  const ranges: RowRange[] = [];
  for (let channel = 0; channel < inChannels; channel += channels) {
    const count = Math.min(channels, inChannels - channel);
    ranges.push({ first: channel * taps, rows: count * taps, channel, channels: count });
  }
  return ranges;
}
