import { imageBytes } from '../core/scratch.ts';
import { mostParts } from '../threads/control.ts';
import { pool } from '../threads/pool.ts';
import { convKernels } from '../wasm/convolution/conv-kernels.ts';
import { vectorsAtOnce } from '../wasm/convolution/direct-rows.ts';
import { blockK, blockN } from '../wasm/product-blocks.ts';
import { forwardPatches } from './forward-patches.ts';
import { ConvGeometry, type ConvSpec, type SliceSize } from './geometry.ts';
import { perPlane } from './product.ts';
import type { ConvShape } from './shape.ts';
import { forwardTaps } from './taps.ts';
import { type WeightGrad, weightGradByBlocks } from './weight-blocks.ts';

/** Nanoseconds of a multiplication and addition, by tiles and directly, and of a part. */
const perTerm = 0.06;
const perDirectTerm = 0.11;
const leastPart = 20_000;

/** Patches' rows of a part: the output's gradient is packed for each part. */
const leastRows = 48;

/** Few parts are divided further by output channels, at least this many: patches are packed for each part. */
const fewParts = 4;
const leastChannels = 8;

/** Patches' rows, whole channels, that one part sums. */
interface RowRange {
  readonly first: number;
  readonly rows: number;
  readonly channel: number;
  readonly channels: number;
}

/** With so few channels, a product would mostly multiply what is thrown away. */
function isDirectFor({ outChannels, groups, dilation }: ConvShape): boolean {
  return dilation[1] === 1 && (outChannels <= 2 || (groups > 1 && outChannels <= 4));
}

/** The patches' rows in vectors of up to four taps of one row of the kernel: offset, place in the result, taps. */
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

/** Bytes from the first position to each in the slice. */
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
 * dw (+)= Σ over images of dy[n] · patches(x[n])ᵀ, image by image, so that the sum can be done for some images and go
 * on with the next; for each image over blocks of positions. Parts are ranges of patches' rows. Null where there is
 * no generated kernel.
 */
export function weightGrad(shape: ConvShape): WeightGrad | null {
  const { batch, groups, inChannels, outChannels, inSize, outSize, kernel } = shape;
  const blocks = forwardPatches(shape).blocks(blockN, blockK);
  if (!blocks) return null;
  const taps = kernel[0] * kernel[1];
  const columns = outSize[0] * outSize[1];
  // Vectors are of all channels: their slice has to fit.
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
    // Tables of whole channels: a slice has those of a part.
    sumRows: taps,
    weights: { laneStep: 0, offset: () => 0 },
    out: { step: groups * outChannels * columns * 4, channel: rowBytes, line: 0, position: 0 },
    isDirect,
    readsPast: true,
  };
  let slicePlane = 0;
  const geometry = new ConvGeometry(spec, outSize[0], (slice) => {
    slicePlane = slice.plane;
    return [...columnsOf(shape, slice), ...(isDirect ? vectorsOf(shape, slice) : [])];
  });
  if (!geometry.fits) return weightGradByBlocks(shape);
  const most = Math.floor(imageBytes / slicePlane);
  // Alone, a thread packs the output's gradient as seldom as it can.
  const wide = rowRanges(shape, taps, isDirect, most, blockN);
  const narrow = rowRanges(shape, taps, isDirect, most, leastRows);
  const terms = outChannels * columns * inChannels * taps;
  const work = batch * groups * (terms * (isDirect ? perDirectTerm : perTerm) + perPlane);
  const outputRanges = isDirect ? 1 : outputParts(groups * narrow.length, outChannels, work);
  const { convolveWeightGrad } = convKernels();
  const vectorsAt = geometry.moreAt + columns * 4;
  const planeBytes = inSize[0] * inSize[1] * 4;
  const run = (grad: number, image: number, out: number, goesOn: boolean): void => {
    const isShared = groups * narrow.length * outputRanges > 1 && pool.shares(work);
    const ranges = isShared ? narrow : wide;
    const height = isShared ? Math.ceil(outChannels / outputRanges / 4) * 4 : outChannels;
    let parts = 0;
    geometry.write();
    for (let g = 0; g < groups; g++) {
      for (const { first, rows, channel, channels } of ranges) {
        for (let from = 0; from < outChannels; from += height) {
          const row = g * outChannels + from;
          const args = [
            geometry.at,
            grad + row * columns * 4,
            image + g * inChannels * planeBytes,
            out + row * rowBytes,
            ...[batch, first, rows, channel, channels, Math.min(height, outChannels - from)],
            ...[geometry.moreAt, columns, blocks.columns, Number(goesOn)],
          ];
          if (!isShared) {
            convolveWeightGrad(...args);
            continue;
          }
          pool.numbers.set(args, parts++ * args.length);
          if (parts === mostParts) {
            pool.run(convolveWeightGrad, parts, args.length);
            parts = 0;
          }
        }
      }
    }
    if (parts > 0) pool.run(convolveWeightGrad, parts, 14);
  };
  // The kernel's table of rows is that of vectors.
  if (isDirect) geometry.setRowTable(vectorsAt);
  return run;
}

/** Into how many parts the output channels are divided, so that threads end about together. */
function outputParts(parts: number, outChannels: number, work: number): number {
  const wanted = Math.ceil(fewParts / parts);
  const most = Math.min(outChannels / leastChannels, work / parts / leastPart);
  return Math.max(1, Math.min(wanted, Math.floor(most)));
}

/** So many at a time, or fewer, that a small number of parts is one that two or four threads share evenly. */
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
  const wanted = Math.max(1, Math.ceil(Math.max(least, leastPart / perRow) / taps));
  const channels = Math.min(
    most,
    Math.max(1, Math.floor(blockN / taps)),
    evenly(inChannels, wanted),
  );
  const ranges: RowRange[] = [];
  for (let channel = 0; channel < inChannels; channel += channels) {
    const count = Math.min(channels, inChannels - channel);
    ranges.push({ first: channel * taps, rows: count * taps, channel, channels: count });
  }
  return ranges;
}
