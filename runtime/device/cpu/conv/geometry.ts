import { heap, partArgumentsBytes, sharedTables } from '../core/heap.ts';
import { imageBytes } from '../core/scratch.ts';
import {
  blockWords,
  type GeometryWord,
  type GroupSteps,
  geometryWords,
} from '../wasm/convolution/conv-code.ts';

type Pair = readonly [number, number];

/** One position of the kernel: its index, and the row and column it reads for the first result. */
export interface Tap {
  readonly index: number;
  readonly row: number;
  readonly column: number;
}

/** A product of weights and patches: result [row of weights, position] of every image. Sizes mostly in bytes. */
export interface ConvSpec {
  /** Source channels per group, and the size of their planes. */
  readonly channels: number;
  readonly size: Pair;
  /** The source's step between images. */
  readonly imageStep: number;
  /** The number of kernel positions, and the positions that read any element. */
  readonly tapCount: number;
  readonly taps: readonly Tap[];
  readonly positions: Pair;
  /** The source rows and columns between adjacent positions. */
  readonly stride: Pair;
  /** The number of patch rows, including those that read nothing, that are summed before being added to the rest. */
  readonly sumRows: number;
  readonly weights: { readonly laneStep: number; readonly offset: (row: number) => number };
  readonly out: {
    readonly step: number;
    readonly channel: number;
    readonly line: number;
    readonly position: number;
  };
  /** Whether results are computed line by line, without packing. */
  readonly isDirect: boolean;
  readonly groupSteps: GroupSteps;
  /** Whether the kernel's vectors read past the last element they need. */
  readonly readsPast?: boolean;
}

const extent = (values: readonly number[]): Pair => [Math.min(...values), Math.max(...values)];

/** The width of a slice's row in elements, and the size of its plane in bytes. */
export interface SliceSize {
  readonly width: number;
  readonly plane: number;
}

/** The words that contain addresses within the geometry. */
const addresses = (['rowTable', 'weightTable', 'blockList'] as const).map((name) =>
  geometryWords.indexOf(name),
);

const none = (): readonly number[] => [];

/** The geometry of a convolution as kernels read it, with a slice of this many lines of positions. */
export class ConvGeometry {
  /** The number of patch rows that read any element. */
  readonly entries: number;
  readonly #words: Int32Array | null;
  /** The address of data shared by all parts of a convolution. */
  readonly at = sharedTables.at;
  /** The address of `more`. */
  readonly moreAt: number;

  /** `lines` of positions share a slice. `more` are additional words for the kernel. */
  constructor(spec: ConvSpec, lines: number, more: (slice: SliceSize) => readonly number[] = none) {
    const { channels, tapCount, taps, stride, size, positions } = spec;
    this.entries = channels * taps.length;
    const [top, bottom] = extent(taps.map(({ row }) => row));
    const [left, right] = extent(taps.map(({ column }) => column));
    const endRow = bottom + (positions[0] - 1) * stride[0];
    const endColumn = right + (positions[1] - 1) * stride[1];
    const isInside = top >= 0 && left >= 0 && endRow < size[0] && endColumn < size[1];
    // Without packing, vectors of every second element extend past the last element.
    const isSliced = !isInside || spec.readsPast === true || (spec.isDirect && stride[1] !== 1);
    const sliceHeight = (lines - 1) * stride[0] + bottom - top + 1;
    const sliceWidth = isSliced ? endColumn - left + 1 : size[1];
    const slicePlane = isSliced ? sliceHeight * sliceWidth * 4 : size[0] * size[1] * 4;

    const rows: number[] = [];
    const weights: number[] = [];
    const blocks: number[] = [];
    let [isFirst, isRun] = [1, 1];
    let mostChannels = 0;
    for (let k = 0; k < channels * tapCount; k += spec.sumRows) {
      const end = Math.min(k + spec.sumRows, channels * tapCount);
      const start = rows.length;
      const firstChannel = Math.floor(k / tapCount);
      const lastChannel = Math.floor((end - 1) / tapCount);
      for (let channel = firstChannel; channel <= lastChannel; channel++) {
        for (const tap of taps) {
          const row = channel * tapCount + tap.index;
          if (row < k || row >= end) continue;
          const place = (tap.row - top) * sliceWidth + tap.column - left;
          rows.push(channel * slicePlane + place * 4);
          const offset = spec.weights.offset(row);
          if (weights.length > start && offset !== weights.at(-1)! + 4) isRun = 0;
          weights.push(offset);
        }
      }
      if (rows.length === start) continue;
      const count = lastChannel - firstChannel + 1;
      mostChannels = Math.max(mostChannels, count);
      blocks.push(start, rows.length - start, firstChannel, count, isFirst);
      isFirst = 0;
    }
    const fits = !isSliced || mostChannels * slicePlane <= imageBytes;
    const tables = this.at + geometryWords.length * 4;
    const values: Readonly<Record<GeometryWord, number>> = {
      height: size[0],
      width: size[1],
      plane: size[0] * size[1] * 4,
      imageStep: spec.imageStep,
      positions: positions[1],
      strideH: stride[0],
      strideW: stride[1],
      top,
      left,
      sliceHeight,
      sliceWidth,
      slicePlane,
      isSliced: Number(isSliced),
      laneStep: spec.weights.laneStep,
      isRun,
      rowTable: tables,
      weightTable: tables + rows.length * 4,
      blocks: blocks.length / blockWords,
      blockList: tables + rows.length * 8,
      outStep: spec.out.step,
      outChannel: spec.out.channel,
      outLine: spec.out.line,
      outPosition: spec.out.position,
      isDirect: Number(spec.isDirect),
      ...spec.groupSteps,
    };
    const words = [...geometryWords.map((name) => values[name]), ...rows, ...weights, ...blocks];
    this.moreAt = this.at + words.length * 4;
    for (const value of more({ width: sliceWidth, plane: slicePlane })) words.push(value);
    this.#words = fits && words.length * 4 <= partArgumentsBytes ? Int32Array.from(words) : null;
  }

  /** Whether the slice fits into scratch memory and the tables into theirs. */
  get fits(): boolean {
    return this.#words !== null;
  }

  /** Replaces the table of all entries' rows. */
  setRowTable(at: number): void {
    this.#words![geometryWords.indexOf('rowTable')] = at;
  }

  get bytes(): number {
    return this.#words!.length * 4;
  }

  /** Writes the geometry to where kernels read it, or somewhere else. */
  write(at = this.at): void {
    const words = heap.i32;
    words.set(this.#words!, at / 4);
    if (at === this.at) return;
    for (const index of addresses) words[at / 4 + index]! += at - this.at;
  }
}
