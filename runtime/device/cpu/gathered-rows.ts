import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch, Operand } from '../device.ts';
import type { Holder } from '../holder.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import type { Loops } from './core/loops.ts';
import type { ReductionKind } from './core/reduction.ts';
import { panelBAt } from './core/scratch.ts';
import { copy } from './movement/copies.ts';
import { inVectors, reduceKernels, rowPieces } from './wasm/reduce-kernels.ts';

/** (to, from, rows, accumulate), in bytes: combines each row of a matrix. */
export type ReduceRows = (to: number, from: number, rows: number, accumulate: number) => void;

/** The location and size of gathered pieces, and the location of the totals of their rows. */
const gatheredAt = panelBAt;
const gatheredBytes = 256 * 1024;
const totalsAt = gatheredAt + 1.5 * gatheredBytes;

/** The entire memory, in which elements are located by address. */
const memory = { ptr: 0 } as Holder;

/**
 * Returns sums or products of rows whose elements (the `reduced` dimensions from `first` on) are not laid out
 * contiguously: pieces of the rows are copied into contiguous memory. Pieces end where the kernel's partial results
 * end. Steps are in bytes.
 */
export function gatheredRows(
  kind: ReductionKind,
  x: TensorMeta,
  reduced: Loops,
  first: number,
  [rowStep, outStep]: readonly number[],
): ReduceRows {
  const dtype = x.dtype as 'float32' | 'float64';
  const { bytes } = dtypes[dtype];
  const shape = reduced.shape.slice(first);
  const [steps, whole] = reduced.strides.map((each) => each.slice(first)) as [number[], number[]];
  const last = shape.length - 1;
  const width = shape[last]!;
  const size = sizeOf(shape);
  const isInVectors = inVectors(dtype, size, whole[last]!);
  const pieces = rowPieces(dtype, size, isInVectors);
  const [longest] = pieces as [number];
  const most = Math.max(1, Math.floor(gatheredBytes / bytes / longest));
  const kernel = reduceKernels[dtype]()[kind];
  // The contiguous axis comes last.
  const axes = (row: number, line: number, column: number) =>
    isInVectors ? [row, line, column] : [line, column, row];
  /** The copies of each piece, by number of rows. */
  const bound: (readonly BoundPiece[])[] = [];
  const bind = (height: number): readonly BoundPiece[] => {
    // The columns of a single row are not adjacent, either.
    const [toRow, toColumn] = isInVectors ? [longest, 1] : [1, height + 1];
    let start = 0;
    return pieces.map((length) => {
      const copies: BoundCopy[] = [];
      for (let done = 0; done < length; ) {
        const begin = (start + done) % width;
        const run = Math.min(width - begin, length - done);
        let line = (start + done - begin) / width;
        // All whole lines of a matrix together.
        const lines = run < width || last > 1 ? 1 : Math.floor((length - done) / width);
        let place = begin * steps[last]!;
        for (let dim = last - 1; dim >= 0; dim--) {
          place += (line % shape[dim]!) * steps[dim]!;
          line = Math.floor(line / shape[dim]!);
        }
        const box = { ...x, offset: 0, shape: axes(height, lines, run) };
        const source = axes(rowStep! / bytes, steps[last - 1] ?? 0, steps[last]!);
        const target = axes(toRow, run * toColumn, toColumn);
        const launch = copy([{ ...box, strides: source }], [{ ...box, strides: target }], {});
        const offset = gatheredAt / bytes + done * toColumn;
        copies.push({ launch, place, to: [{ holder: memory, offset }] });
        done += lines * run;
      }
      start += length;
      return { length, copies, toRow: toRow * bytes, toColumn: toColumn * bytes };
    });
  };
  return (to, from, rows, accumulate) => {
    for (let row = 0; row < rows; row += most) {
      const height = Math.min(most, rows - row);
      bound[height] ??= bind(height);
      const first = (from + row * rowStep!) / bytes;
      let accumulates = 0;
      for (const { length, copies, toRow, toColumn } of bound[height]) {
        for (const { launch, place, to } of copies) {
          launch([{ holder: memory, offset: first + place }], to);
        }
        kernel(totalsAt, bytes, gatheredAt, toRow, toColumn, height, length, accumulates);
        accumulates = 1;
      }
      kernel(to + row * outStep!, outStep!, totalsAt, bytes, 0, height, 1, accumulate);
    }
  };
}

/** A copy of part of a piece; `place` is its offset in elements from the first row. */
interface BoundCopy {
  readonly launch: Launch;
  readonly place: number;
  readonly to: readonly Operand[];
}

/** The layout of its gathered elements; steps in bytes. */
interface BoundPiece {
  readonly length: number;
  readonly copies: readonly BoundCopy[];
  readonly toRow: number;
  readonly toColumn: number;
}
