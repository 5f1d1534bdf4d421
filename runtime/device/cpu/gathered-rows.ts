import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Holder } from '../holder.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import type { Loops } from './core/loops.ts';
import type { ReductionKind } from './core/reduction.ts';
import { panelBAt } from './core/scratch.ts';
import { copy } from './movement/copies.ts';
import { inVectors, reduceKernels, rowPieces } from './wasm/reduce-kernels.ts';

/** (to, from, rows, accumulate), in bytes: combines each row of a matrix. */
export type ReduceRows = (to: number, from: number, rows: number, accumulate: number) => void;

/** Where pieces are gathered, how many bytes of them at once, and where the totals of their rows are. */
const gatheredAt = panelBAt;
const gatheredBytes = 256 * 1024;
const totalsAt = gatheredAt + 1.5 * gatheredBytes;

/** All of the memory, whose elements are found by their addresses. */
const memory = { ptr: 0 } as Holder;

/**
 * Sums or products of rows whose elements, those of the `reduced` dimensions from `first` on, lie otherwise than in a
 * contiguous tensor: pieces of the rows are copied to where they lie as they do there. A piece ends where the kernel ends
 * a partial result. Steps in bytes.
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
  // What is adjacent comes last.
  const axes = (row: number, line: number, column: number) =>
    isInVectors ? [row, line, column] : [line, column, row];
  return (to, from, rows, accumulate) => {
    for (let row = 0; row < rows; row += most) {
      const height = Math.min(most, rows - row);
      // Columns of a single row are not adjacent either.
      const [toRow, toColumn] = isInVectors ? [longest, 1] : [1, height + 1];
      let start = 0;
      for (const length of pieces) {
        for (let done = 0; done < length; ) {
          const begin = (start + done) % width;
          const run = Math.min(width - begin, length - done);
          let line = (start + done - begin) / width;
          // All whole lines of a matrix at once.
          const lines = run < width || last > 1 ? 1 : Math.floor((length - done) / width);
          let place = (from + row * rowStep!) / bytes + begin * steps[last]!;
          for (let dim = last - 1; dim >= 0; dim--) {
            place += (line % shape[dim]!) * steps[dim]!;
            line = Math.floor(line / shape[dim]!);
          }
          const box = { ...x, offset: 0, shape: axes(height, lines, run) };
          const source = axes(rowStep! / bytes, steps[last - 1] ?? 0, steps[last]!);
          const target = axes(toRow, run * toColumn, toColumn);
          copy(
            [{ ...box, strides: source }],
            [{ ...box, strides: target }],
            {},
          )(
            [{ holder: memory, offset: place }],
            [{ holder: memory, offset: gatheredAt / bytes + done * toColumn }],
          );
          done += lines * run;
        }
        const [toRowBytes, toColumnBytes] = [toRow * bytes, toColumn * bytes];
        const goesOn = start > 0 ? 1 : 0;
        kernel(totalsAt, bytes, gatheredAt, toRowBytes, toColumnBytes, height, length, goesOn);
        start += length;
      }
      kernel(to + row * outStep!, outStep!, totalsAt, bytes, 0, height, 1, accumulate);
    }
  };
}
