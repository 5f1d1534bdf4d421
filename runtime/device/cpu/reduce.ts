import { type DType, dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { partArgumentsAt, partArgumentsBytes } from './core/heap.ts';
import { addressOf, type KernelFactory } from './core/kernel.ts';
import { type Loops, walk } from './core/loops.ts';
import {
  adjacentDim,
  broadcastDims,
  type Inner,
  type ReductionKind,
  reductionOver,
  takeInner,
} from './core/reduction.ts';
import { gatheredRows, type ReduceRows } from './gathered-rows.ts';
import { reduction as oneByOne } from './scalar/reduce.ts';
import { mostParts } from './threads/control.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { inVectors, type ReducedDType, reduceKernels, rowPieces } from './wasm/reduce-kernels.ts';

function bindReduction(
  x: TensorMeta,
  dims: readonly number[],
  kind: ReductionKind,
  accumulates = 0,
): Launch {
  const dtype = x.dtype as ReducedDType;
  const { kept, reduced } = reductionOver(x, dims);
  const kernel = reduceKernels[dtype]()[`${kind}s`];
  const { bytes } = dtypes[dtype];
  const rows = takeInner(kept, bytes, adjacentDim(kept));
  const [rowStep, outStep] = rows.strides as [number, number];
  // Maxima and minima don't depend on the order, nor do sums and products that wrap.
  const rounds = dtype !== 'int32' && (kind === 'sum' || kind === 'prod');
  const apart = rounds ? columnsApart(reduced, dtype) : 0;
  const innermost = rounds ? reduced.shape.length - 1 : adjacentDim(reduced);
  const columns = takeInner(reduced, bytes, innermost);
  const columnStep = columns.strides[0]!;
  // The dimension that the kernel loops over besides its rows and columns.
  const {
    shape: ahead,
    strides: [aheadSteps],
  } = columns.outer;
  const last = ahead.length - 1;
  const count = ahead[last] ?? 1;
  const countStep = aheadSteps![last] ?? 0;
  const direct: ReduceRows = (to, from, height, accumulate) => {
    const { size } = columns;
    kernel(to, outStep, from, rowStep, columnStep, height, size, accumulate, count, countStep);
  };
  const within = reduced.shape.length - apart;
  const take = apart > 0 ? gatheredRows(kind, x, reduced, within, rows.strides) : direct;
  const nest = apart > 0 ? within : Math.max(last, 0);
  const before: Loops = { shape: ahead.slice(0, nest), strides: [aheadSteps!.slice(0, nest)] };
  const alone = (from: number, to: number): void => {
    let accumulate = accumulates;
    const at = [from];
    walk(before, at, () => {
      take(to, at[0]!, rows.size, accumulate);
      accumulate = 1;
    });
  };

  const perRow = columns.size * count * perElement;
  const outer = sizeOf(rows.outer.shape);
  const perOuter = sizeOf(before.shape);
  const isOne = outer * perOuter === 1;
  const work = outer * rows.size * perRow * perOuter;
  const height = Math.ceil(Math.ceil(leastPart / perRow) / rowsAtOnce) * rowsAtOnce;
  const hasRows =
    !apart && last <= 0 && rows.size * perRow >= leastCall && outer * rows.size > 2 * height;
  const isLong = !apart && last < 0 && outer === 1 && !hasRows;
  const together = isLong ? inPieces(kind, dtype, rows, columns) : null;
  const parts = new Parts(kernel, 10);
  const args = [0, outStep, 0, rowStep, columnStep, 0, columns.size, accumulates, count, countStep];

  return ([source], [target]) => {
    const at = [addressOf(source!, dtype), addressOf(target!, dtype)];
    if (!(hasRows || together) || !pool.shares(work)) {
      if (isOne) take(at[1]!, at[0]!, rows.size, accumulates);
      else walk(rows.outer, at, () => alone(at[0]!, at[1]!));
      return;
    }
    if (together) {
      together(at[0]!, at[1]!, accumulates);
      return;
    }
    walk(rows.outer, at, () => {
      const [rowFrom, rowTo] = at as [number, number];
      for (let row = 0; row < rows.size; row += height) {
        args[0] = rowTo + row * outStep;
        args[2] = rowFrom + row * rowStep;
        args[5] = Math.min(height, rows.size - row);
        parts.call(args, true);
      }
    });
    parts.run();
  };
}

/**
 * Returns the number of inner dimensions that have gaps here but not in a contiguous tensor; 0 if the kernel reads
 * their elements in the same order anyway. The order of a sum or product follows from the shape, so that bits don't
 * depend on strides.
 */
function columnsApart({ shape, strides }: Loops, dtype: ReducedDType): number {
  const [own, whole] = strides as [number[], number[]];
  const last = shape.length - 1;
  let first = last;
  while (first > 0 && whole[first - 1] === whole[first]! * shape[first]!) first--;
  if (first < last) return shape.length - first;
  const isInVectors = (steps: number[]) => inVectors(dtype, shape[last]!, steps[last]!);
  return isInVectors(own) === isInVectors(whole) ? 0 : 1;
}

/** Nanoseconds per element, and the minimum per part and per call of a thread. */
const perElement = 0.25;
const leastPart = 15_000;
const leastCall = 500;

/** Adjacent rows that a kernel processes together. */
const rowsAtOnce = 32;

/**
 * For a few long rows: the kernel sums pieces of rows, and then their totals, in the order of a sum of the whole row.
 * Null if that isn't worthwhile.
 */
function inPieces(
  kind: ReductionKind,
  dtype: ReducedDType,
  { size: height, strides: [rowStep, outStep] }: Inner,
  { size, strides: [columnStep] }: Inner,
): ((from: number, to: number, accumulates: number) => void) | null {
  const { bytes } = dtypes[dtype];
  const pieces = rowPieces(dtype, size, inVectors(dtype, size, columnStep! / bytes));
  const parts = pieces.length;
  const totals = height * bytes;
  if (parts <= 2 || parts > mostParts || parts * totals > partArgumentsBytes) return null;
  const kernel = reduceKernels[dtype]()[kind];
  const add = (to: number, step: number, from: number, accumulates: number) =>
    kernel(to, step, from, bytes, 0, height, 1, accumulates);
  return (from, to, accumulates) => {
    let start = 0;
    pieces.forEach((length, part) => {
      const partArguments = [partArgumentsAt + part * totals, bytes, from + start * columnStep!];
      pool.numbers.set([...partArguments, rowStep!, columnStep!, height, length, 0], part * 8);
      start += length;
    });
    pool.run(kernel, parts, 8);
    for (let part = 1; part < parts; part++) {
      add(partArgumentsAt, bytes, partArgumentsAt + part * totals, 1);
    }
    add(to, outStep!, partArgumentsAt, accumulates);
  };
}

const isGenerated = (dtype: DType): dtype is ReducedDType => Object.hasOwn(reduceKernels, dtype);

function reduction(
  kind: ReductionKind,
  dimsOf = (_inputs: readonly TensorMeta[], dims: readonly number[]) => dims,
): KernelFactory {
  return (inputs, [out], attrs) => {
    const x = inputs[0]!;
    const { dtype } = x;
    const dims = dimsOf(inputs, attrs.dims as readonly number[]);
    return hasSimd && isGenerated(dtype) && sizeOf(x.shape) > 0
      ? bindReduction(x, dims, kind)
      : oneByOne(x, out!, dims, kind);
  };
}

export const sum = reduction('sum');
export const prod = reduction('prod');
export const max = reduction('max');
export const min = reduction('min');
export const sumTo = reduction('sum', ([x, like]) => broadcastDims(x!, like!));

/** float32 whose columns are vectors, as the op ensures. */
export const addSum: KernelFactory = ([, x], _outputs, attrs) => {
  const add = bindReduction(x!, attrs.dims as number[], 'sum', 1);
  return ([, source], target) => add([source!], target);
};
