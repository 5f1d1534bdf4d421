import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { heap, partArgumentsAt, partArgumentsBytes } from './core/heap.ts';
import { addressOf, type KernelFactory } from './core/kernel.ts';
import {
  adjacentDim,
  broadcastDims,
  type Inner,
  type ReductionKind,
  reductionOver,
  takeInner,
} from './core/reduction.ts';
import { gatheredReduction, isTakenInOrder } from './gathered-reduction.ts';
import * as scalar from './scalar/reduce.ts';
import { mostParts } from './threads/control.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { inVectors, reduceKernels, rowPieces } from './wasm/reduce-kernels.ts';

function bindReduction(
  x: TensorMeta,
  dims: readonly number[],
  kind: ReductionKind,
  goesOn = false,
): Launch {
  const dtype = x.dtype as 'float32' | 'float64';
  const { kept, reduced } = reductionOver(x, dims);
  const rounds = kind === 'sum' || kind === 'prod';
  if (rounds && !isTakenInOrder(reduced, dtype)) return gatheredReduction(x, dims, kind);
  const kernel = reduceKernels[dtype]()[`${kind}s`];
  const { bytes } = dtypes[dtype];
  const rows = takeInner(kept, bytes, adjacentDim(kept));
  const innermost = rounds ? reduced.shape.length - 1 : adjacentDim(reduced);
  const columns = takeInner(reduced, bytes, innermost);
  const [rowStep, outStep] = rows.strides as [number, number];
  const columnStep = columns.strides[0]!;
  const [fromSteps, toSteps] = rows.outer.strides as [number[], number[]];
  const last = columns.outer.shape.length - 1;
  // The dimension that the kernel goes over besides its rows and columns.
  const count = columns.outer.shape[last] ?? 1;
  const countStep = columns.outer.strides[0]![last] ?? 0;
  const columnSteps = columns.outer.strides[0]!;

  const call: ReductionCall = (to, from, height, accumulate) => {
    const { size } = columns;
    kernel(to, outStep, from, rowStep, columnStep, height, size, accumulate, count, countStep);
  };
  const overReduced = (dim: number, from: number, to: number, accumulate: number): number => {
    if (dim >= last) {
      call(to, from, rows.size, accumulate);
      return 1;
    }
    let goesOnNow = accumulate;
    for (let i = 0; i < columns.outer.shape[dim]!; i++) {
      goesOnNow = overReduced(dim + 1, from + i * columnSteps[dim]!, to, goesOnNow);
    }
    return goesOnNow;
  };
  const overKept = (
    dim: number,
    from: number,
    to: number,
    visit: (from: number, to: number) => void,
  ): void => {
    if (dim === rows.outer.shape.length) {
      visit(from, to);
      return;
    }
    for (let i = 0; i < rows.outer.shape[dim]!; i++) {
      overKept(dim + 1, from + i * fromSteps[dim]!, to + i * toSteps[dim]!, visit);
    }
  };
  const alone = (from: number, to: number): void => {
    overReduced(0, from, to, goesOn ? 1 : 0);
  };

  const perRow = columns.size * count * perElement;
  const outer = sizeOf(rows.outer.shape);
  const work = outer * rows.size * perRow * sizeOf(columns.outer.shape.slice(0, Math.max(last, 0)));
  const height = Math.ceil(Math.ceil(leastPart / perRow) / rowsAtOnce) * rowsAtOnce;
  const hasRows = last <= 0 && rows.size * perRow >= leastCall && outer * rows.size > 2 * height;
  const inColumns = new ColumnParts(kind, dtype, { rows, columns });
  const isLong = last < 0 && outer === 1 && !hasRows && inColumns.areWorthIt;

  return ([source], [target]) => {
    const from = addressOf(source!, dtype);
    const to = addressOf(target!, dtype);
    if (!(hasRows || isLong) || !pool.shares(work)) {
      overKept(0, from, to, alone);
      return;
    }
    if (isLong) {
      inColumns.run(from, to, goesOn);
      return;
    }
    let parts = 0;
    const run = () => {
      pool.run(kernel, parts, 10);
      parts = 0;
    };
    overKept(0, from, to, (rowFrom, rowTo) => {
      for (let row = 0; row < rows.size; row += height) {
        if (parts === mostParts) run();
        const { numbers } = pool;
        let at = parts++ * 10;
        numbers[at++] = rowTo + row * outStep;
        numbers[at++] = outStep;
        numbers[at++] = rowFrom + row * rowStep;
        numbers[at++] = rowStep;
        numbers[at++] = columnStep;
        numbers[at++] = Math.min(height, rows.size - row);
        numbers[at++] = columns.size;
        numbers[at++] = goesOn ? 1 : 0;
        numbers[at++] = count;
        numbers[at++] = countStep;
      }
    });
    run();
  };
}

type ReductionCall = (to: number, from: number, height: number, accumulate: number) => void;

/** Nanoseconds of an element, of a part, and of a call that a thread takes. */
const perElement = 0.25;
const leastPart = 15_000;
const leastCall = 500;

/** Adjacent rows that a kernel takes at once. */
const rowsAtOnce = 16;

const combine: { readonly [K in ReductionKind]: (a: number, b: number) => number } = {
  sum: (a, b) => a + b,
  prod: (a, b) => a * b,
  max: Math.max,
  min: Math.min,
};

/**
 * Few long rows: the kernel adds up parts of them, each of which it would add to a row's total as a whole, and the
 * totals are made here, in the same order.
 */
class ColumnParts {
  readonly #kind: ReductionKind;
  readonly #dtype: 'float32' | 'float64';
  readonly #rows: Inner;
  readonly #columns: Inner;
  readonly #lengths: readonly number[];

  constructor(
    kind: ReductionKind,
    dtype: 'float32' | 'float64',
    { rows, columns }: { readonly rows: Inner; readonly columns: Inner },
  ) {
    this.#kind = kind;
    this.#dtype = dtype;
    this.#rows = rows;
    this.#columns = columns;
    const { size, strides } = columns;
    const isInVectors = inVectors(dtype, size, strides[0]! / dtypes[dtype].bytes);
    this.#lengths = rowPieces(dtype, size, isInVectors);
  }

  get areWorthIt(): boolean {
    const parts = this.#lengths.length;
    const bytes = parts * this.#rows.size * dtypes[this.#dtype].bytes;
    return parts > 2 && parts <= mostParts && bytes <= partArgumentsBytes;
  }

  run(from: number, to: number, goesOn: boolean): void {
    const { bytes } = dtypes[this.#dtype];
    const [rowStep, outStep] = this.#rows.strides as [number, number];
    const columnStep = this.#columns.strides[0]!;
    const { size: height } = this.#rows;
    const { numbers } = pool;
    let start = 0;
    this.#lengths.forEach((length, part) => {
      let at = part * 8;
      numbers[at++] = partArgumentsAt + part * height * bytes;
      numbers[at++] = bytes;
      numbers[at++] = from + start * columnStep;
      numbers[at++] = rowStep;
      numbers[at++] = columnStep;
      numbers[at++] = height;
      numbers[at++] = length;
      numbers[at++] = 0;
      start += length;
    });
    pool.run(reduceKernels[this.#dtype]()[this.#kind], this.#lengths.length, 8);
    const data = this.#dtype === 'float32' ? heap.f32 : heap.f64;
    const both = combine[this.#kind];
    const round = this.#dtype === 'float32' ? Math.fround : (x: number) => x;
    const partial = partArgumentsAt / bytes;
    for (let row = 0; row < height; row++) {
      let total = data[partial + row]!;
      for (let part = 1; part < this.#lengths.length; part++) {
        total = round(both(total, data[partial + part * height + row]!));
      }
      const out = (to + row * outStep) / bytes;
      data[out] = goesOn ? both(data[out]!, total) : total;
    }
  }
}

function reduction(
  kind: ReductionKind,
  fallback: KernelFactory,
  dimsOf: (inputs: readonly TensorMeta[], dims: readonly number[]) => readonly number[],
): KernelFactory {
  return (inputs, outputs, attrs) => {
    const x = inputs[0]!;
    const { dtype } = x;
    const isFloat = dtype === 'float32' || dtype === 'float64';
    if (!hasSimd || !isFloat || sizeOf(x.shape) === 0) return fallback(inputs, outputs, attrs);
    const dims = dimsOf(inputs, attrs.dims as readonly number[]);
    return bindReduction(x, dims, kind);
  };
}

const attrDims = (_inputs: readonly TensorMeta[], dims: readonly number[]) => dims;

export const sum = reduction('sum', scalar.sum, attrDims);
export const prod = reduction('prod', scalar.prod, attrDims);
export const max = reduction('max', scalar.max, attrDims);
export const min = reduction('min', scalar.min, attrDims);
export const sumTo = reduction('sum', scalar.sumTo, ([x, like]) => broadcastDims(x!, like!));

/** float32 with vectors, as its op says. */
export const addSum: KernelFactory = ([, x], _outputs, attrs) => {
  const add = bindReduction(x!, attrs.dims as number[], 'sum', true);
  return ([, source], target) => add([source!], target);
};
