import { heap } from '../core/heap.ts';
import { imageAt, imageBytes } from '../core/scratch.ts';
import { imageKernels } from '../wasm/image-kernel.ts';

type Pair = readonly [number, number];

/**
 * The matrix of a convolution's patches: rows are (channel, kernel row, kernel column), columns are positions. It is
 * never materialized: packers read it through two tables of offsets, either from the image itself or, if padding or
 * spreading inserts zeros, from the block's slice of the image in scratch memory ("implicit GEMM").
 */
interface PatchShape {
  readonly channels: number;
  readonly size: Pair;
  readonly kernel: Pair;
  readonly dilation: Pair;
  readonly positions: Pair;
  readonly stride: Pair;
  /** Zeros before the first row and column; negative values skip rows and columns. */
  readonly padding: Pair;
  /** The distance between adjacent image elements after zeros are inserted. */
  readonly spread: Pair;
}

/** A range of the patches' rows and of their columns. */
interface PatchBlock {
  readonly row: number;
  readonly rows: number;
  readonly column: number;
  readonly columns: number;
}

interface Slice {
  readonly firstChannel: number;
  readonly channels: number;
  /** The top edge in the padded image. */
  readonly top: number;
  readonly height: number;
  readonly width: number;
}

/** Returns the valid rows (or columns) of a slice along one dimension. */
function overlap(start: number, length: number, spread: number, size: number) {
  const firstSource = Math.max(0, Math.ceil(start / spread));
  const at = firstSource * spread - start;
  const count = Math.min(size - firstSource, Math.floor((length - 1 - at) / spread) + 1);
  return { at, firstSource, count: Math.max(0, count) };
}

export class Patches {
  readonly shape: PatchShape;
  readonly #isDirect: boolean;
  readonly #taps: number;

  constructor(shape: PatchShape) {
    this.shape = shape;
    this.#isDirect = [...shape.padding].every((p) => p === 0) && shape.spread.every((s) => s === 1);
    this.#taps = shape.kernel[0] * shape.kernel[1];
  }

  get rows(): number {
    return this.shape.channels * this.#taps;
  }

  get columns(): number {
    return this.shape.positions[0] * this.shape.positions[1];
  }

  /** Returns block sizes, at most the given ones, whose slice fits into scratch memory; null if none does. */
  blocks(rows: number, columns: number): { rows: number; columns: number } | null {
    if (this.#isDirect) return { rows, columns };
    for (let tall = rows; tall >= 1; tall = Math.floor(tall / 2)) {
      for (let wide = columns; wide >= 8; wide /= 2) {
        const channels = Math.min(this.shape.channels, Math.ceil(tall / this.#taps) + 1);
        const lines = Math.min(
          this.shape.positions[0],
          Math.ceil(wide / this.shape.positions[1]) + 1,
        );
        if (channels * this.#height(lines) * this.#width() * 4 <= imageBytes) {
          return { rows: tall, columns: wide };
        }
      }
    }
    return null;
  }

  #height(lines: number): number {
    const { stride, kernel, dilation } = this.shape;
    return (lines - 1) * stride[0] + (kernel[0] - 1) * dilation[0] + 1;
  }

  #width(): number {
    const { positions, stride, kernel, dilation } = this.shape;
    return (positions[1] - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1;
  }

  /**
   * Returns a function that writes the block's tables (offsets in bytes) and returns another function, which maps
   * an image's address to the base address of the offsets.
   */
  prepareBlock(
    block: PatchBlock,
    rowTable: number,
    columnTable: number,
  ): () => (image: number) => number {
    const slice = this.#slice(block);
    const [rows, columns] = this.#tables(block, slice);
    const copier = this.#isDirect ? null : this.#copier(slice);
    return () => {
      heap.i32.set(rows, rowTable / 4);
      heap.i32.set(columns, columnTable / 4);
      return copier ? copier() : (image) => image;
    };
  }

  #slice(block: PatchBlock): Slice {
    const { size, positions, stride, padding } = this.shape;
    if (this.#isDirect) {
      return { firstChannel: 0, channels: 0, top: 0, height: size[0], width: size[1] };
    }
    const firstChannel = Math.floor(block.row / this.#taps);
    const endChannel = Math.ceil((block.row + block.rows) / this.#taps);
    const firstLine = Math.floor(block.column / positions[1]);
    const lastLine = Math.floor((block.column + block.columns - 1) / positions[1]);
    return {
      firstChannel,
      channels: endChannel - firstChannel,
      top: firstLine * stride[0] - padding[0],
      height: this.#height(lastLine - firstLine + 1),
      width: this.#width(),
    };
  }

  #tables(block: PatchBlock, slice: Slice): readonly [rows: Int32Array, columns: Int32Array] {
    const { kernel, dilation, positions, stride, padding } = this.shape;
    const rows = new Int32Array(block.rows);
    const columns = new Int32Array(block.columns);
    for (let i = 0; i < block.rows; i++) {
      const row = block.row + i;
      const channel = Math.floor(row / this.#taps) - slice.firstChannel;
      const tap = row % this.#taps;
      const h = Math.floor(tap / kernel[1]) * dilation[0];
      const w = (tap % kernel[1]) * dilation[1];
      rows[i] = ((channel * slice.height + h) * slice.width + w) * 4;
    }
    // Lines are relative to the slice's top edge; slice and padded image have the same left edge.
    const top = slice.top + padding[0];
    for (let i = 0; i < block.columns; i++) {
      const column = block.column + i;
      const h = Math.floor(column / positions[1]) * stride[0] - top;
      const w = (column % positions[1]) * stride[1];
      columns[i] = (h * slice.width + w) * 4;
    }
    return [rows, columns];
  }

  #copier(slice: Slice): () => (image: number) => number {
    const { size, spread, padding } = this.shape;
    const { copyPlanes } = imageKernels();
    const rows = overlap(slice.top, slice.height, spread[0], size[0]);
    const columns = overlap(-padding[1], slice.width, spread[1], size[1]);
    const planeBytes = size[0] * size[1] * 4;
    const skip = (slice.firstChannel * size[0] + rows.firstSource) * size[1] + columns.firstSource;
    const slicePlane = slice.height * slice.width * 4;
    const to = imageAt + (rows.at * slice.width + columns.at) * 4;
    const copy = (image: number): number => {
      copyPlanes(
        to,
        slicePlane,
        spread[0] * slice.width * 4,
        spread[1] * 4,
        image + skip * 4,
        planeBytes,
        size[1] * 4,
        slice.channels,
        rows.count,
        columns.count,
      );
      return imageAt;
    };
    return () => {
      // The surrounding zeros are the same for every image of the block.
      heap.u8.fill(0, imageAt, imageAt + slice.channels * slicePlane);
      return copy;
    };
  }
}
