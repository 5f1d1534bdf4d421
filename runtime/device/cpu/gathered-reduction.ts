import { dtypes } from '../../spec/dtype.ts';
import { contiguousStrides } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { heap } from './core/heap.ts';
import { indexOf } from './core/kernel.ts';
import { collapse, type Loops, walk } from './core/loops.ts';
import { adjacentDim, reductionOver, takeInner } from './core/reduction.ts';
import { panelBAt } from './core/scratch.ts';
import { byteKernels } from './wasm/byte-kernels.ts';
import { inVectors, reduceKernels, rowPieces } from './wasm/reduce-kernels.ts';
import { transposeKernels } from './wasm/transpose-kernel.ts';

/**
 * Whether the kernel takes the elements of these reduced dimensions as it takes those of a contiguous tensor. The order
 * of a sum or product follows from the shape, so that bits don't depend on how a tensor lies in memory.
 */
export function isTakenInOrder(reduced: Loops, dtype: 'float32' | 'float64'): boolean {
  const { shape, strides } = reduced;
  const [own, whole] = strides as [number[], number[]];
  if (collapse(shape, [whole]).shape.length < shape.length) return false;
  const columns = shape.at(-1) ?? 1;
  const isInVectors = (steps: number[]) => inVectors(dtype, columns, steps.at(-1) ?? 0);
  return isInVectors(own) === isInVectors(whole);
}

/** Where pieces are gathered, how many bytes of them at once, and where the totals of their rows are. */
const gatheredAt = panelBAt;
const gatheredBytes = 256 * 1024;
const totalsAt = gatheredAt + gatheredBytes;
/** Elements between rows: without some, those of one column would compete for a few lines of the cache. */
const rowGap = 16;

/**
 * A sum or product of a tensor whose elements the kernel would take in another order: pieces of its rows are copied to
 * where they lie as those of a contiguous tensor. They end where the kernel ends a partial result, and one by one join
 * the total.
 */
export function gatheredReduction(
  x: TensorMeta,
  dims: readonly number[],
  kind: 'sum' | 'prod',
): Launch {
  const dtype = x.dtype as 'float32' | 'float64';
  const { bytes } = dtypes[dtype];
  const { kept } = reductionOver(x, dims);
  const rows = takeInner(kept, 1, adjacentDim(kept));
  const [rowStep, outStep] = rows.strides as [number, number];
  const { inner, outer, isAdjacent } = columnsOf(x, dims);
  const [columnStep, lineStep] = [inner.strides[0]!.at(-1)!, inner.strides[0]!.at(-2) ?? 0];
  const columns = inner.shape.reduce((size, dim) => size * dim, 1);
  const isInVectors = inVectors(dtype, columns, isAdjacent ? 1 : 0);
  const pieces = rowPieces(dtype, columns, isInVectors);
  const most = Math.floor(gatheredBytes / bytes / (pieces[0]! + (isInVectors ? rowGap : 0)));
  const height = Math.max(1, Math.min(rows.size, most));
  // Columns of a single row must not be adjacent either where those of a contiguous tensor are not.
  const [toRow, toColumn] = isInVectors ? [pieces[0]! + rowGap, 1] : [1, Math.max(height, 2)];
  const [toStep, rowBytes, columnBytes] = [outStep, toRow, toColumn].map((step) => step * bytes);
  const kernel = reduceKernels[dtype]()[kind];
  return ([source], [target]) => {
    const at = [indexOf(source!, dtype), indexOf(target!, dtype)];
    walk(rows.outer, at, () => {
      for (let row = 0; row < rows.size; row += height) {
        const count = Math.min(height, rows.size - row);
        const to = (at[1]! + row * outStep) * bytes;
        const from = [at[0]! + row * rowStep];
        let accumulate = 0;
        const addPiece = (
          start: number,
          length: number,
          out: number,
          step: number,
          more: number,
        ) => {
          forEachBox(inner, start, length, (done, place, lines, run) => {
            copyBox(dtype, from[0]! + place, gatheredAt / bytes + done * toColumn, [
              { size: count, from: rowStep, to: toRow },
              { size: lines, from: lineStep, to: run * toColumn },
              { size: run, from: columnStep, to: toColumn },
            ]);
          });
          kernel(out, step, gatheredAt, rowBytes!, columnBytes!, count, length, more);
        };
        walk(outer, from, () => {
          if (pieces.length === 1) addPiece(0, columns, to, toStep!, accumulate);
          else {
            // The total of a row is complete before it joins that of other rows.
            let start = 0;
            for (const length of pieces) {
              addPiece(start, length, totalsAt, bytes, start > 0 ? 1 : 0);
              start += length;
            }
            kernel(to, toStep!, totalsAt, bytes, 0, count, 1, accumulate);
          }
          accumulate = 1;
        });
      }
    });
  };
}

/** The reduced dimensions that lie without a jump in a contiguous tensor, last ones first, and those around them. */
function columnsOf({ shape, strides }: TensorMeta, dims: readonly number[]) {
  const whole = contiguousStrides(shape);
  const reduced = [...shape.keys()].filter((dim) => dims.includes(dim) && shape[dim] !== 1);
  const of = (list: readonly number[], chosen: readonly number[]) =>
    chosen.map((dim) => list[dim]!);
  const own = collapse(of(shape, reduced), [of(whole, reduced)]).shape.at(-1) ?? 1;
  let first = reduced.length;
  for (let size = 1; size < own; ) size *= shape[reduced[--first]!]!;
  const loopsOver = (chosen: readonly number[]) =>
    collapse(of(shape, chosen), [of(strides, chosen)]);
  return {
    inner: loopsOver(reduced.slice(first)),
    outer: loopsOver(reduced.slice(0, first)),
    /** In a contiguous tensor. */
    isAdjacent: whole[reduced.at(-1)!] === 1,
  };
}

/**
 * Calls `body` for each box of a piece: the elements that came before it, where it begins, and how many lines of which
 * length it has. Lines are those of the last dimension, and a box has several where they are whole.
 */
function forEachBox(
  { shape, strides }: Loops,
  start: number,
  length: number,
  body: (done: number, place: number, lines: number, run: number) => void,
): void {
  const last = shape.length - 1;
  const [width, steps] = [shape[last]!, strides[0]!];
  const most = shape[last - 1] ?? 1;
  for (let done = 0; done < length; ) {
    const first = (start + done) % width;
    const run = Math.min(width - first, length - done);
    let line = (start + done - first) / width;
    const whole = run === width ? Math.floor((length - done) / width) : 1;
    const lines = Math.min(whole, most - (line % most));
    let place = first * steps[last]!;
    for (let dim = last - 1; dim >= 0; dim--) {
      place += (line % shape[dim]!) * steps[dim]!;
      line = Math.floor(line / shape[dim]!);
    }
    body(done, place, lines, run);
    done += lines * run;
  }
}

/** One dimension of a copy; steps in elements. */
interface Axis {
  readonly size: number;
  readonly from: number;
  readonly to: number;
}

/** Least elements of a run, or of a plane, for which a kernel is called. */
const leastRun = 32;

function copyBox(dtype: 'float32' | 'float64', from: number, to: number, axes: readonly Axis[]) {
  const { bytes } = dtypes[dtype];
  const data = heap.view(dtype);
  const stepOf = ({ size, from }: Axis) => (size === 1 ? Number.MAX_SAFE_INTEGER : from);
  const nest = axes.toSorted((a, b) => stepOf(b) - stepOf(a));
  const [outer, middle, inner] = nest as [Axis, Axis, Axis];
  const isRun = inner.from === 1 && inner.to === 1 && inner.size >= leastRun;
  const rows = [outer, middle].find(({ to }) => to === 1);
  const isPlane =
    bytes === 4 && inner.from === 1 && rows !== undefined && rows.size * inner.size >= leastRun;
  if (isPlane) {
    const { transpose } = transposeKernels();
    const other = rows === outer ? middle : outer;
    for (let i = 0; i < other.size; i++) {
      const [at, source] = [to + i * other.to, from + i * other.from];
      transpose(at * 4, inner.to * 4, source * 4, rows.from * 4, inner.size, rows.size);
    }
    return;
  }
  const { copy } = byteKernels();
  for (let i = 0; i < outer.size; i++) {
    for (let k = 0; k < middle.size; k++) {
      let source = from + i * outer.from + k * middle.from;
      let target = to + i * outer.to + k * middle.to;
      if (isRun) {
        copy(target * bytes, source * bytes, inner.size * bytes);
        continue;
      }
      if (inner.from === 0 && inner.to === 1) {
        data.fill(data[source]!, target, target + inner.size);
        continue;
      }
      for (let n = 0; n < inner.size; n++) {
        data[target] = data[source]!;
        source += inner.from;
        target += inner.to;
      }
    }
  }
}
