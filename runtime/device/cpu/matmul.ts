import { type DType, dtypes } from '../../spec/dtype.ts';
import type { Launch } from '../device.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { addressOf, type KernelFactory } from './core/kernel.ts';
import { collapse } from './core/loops.ts';
import { matmul as scalarMatmul } from './scalar/matmul.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd, type Kernel } from './wasm/assembler/module-builder.ts';
import { gemmKernels } from './wasm/gemm-kernels.ts';
import { longestPlainSum, type PlainProductDType, plainProducts } from './wasm/plain-product.ts';

/** One factor's strides in bytes. */
interface Factor {
  readonly rowStep: number;
  readonly columnStep: number;
}

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** The number of entries of the inner dimension whose product c already contains. */
  readonly start?: number;
}

/** Nanoseconds per multiply-add: packed, and for one row, which is memory-bound. */
const perTerm = 0.05;
const perRowTerm = 0.25;

/** A product kernel, and the sizes it supports. */
interface ProductKernel {
  readonly run: Kernel;
  readonly elementBytes: number;
  /** Nanoseconds per multiply-add. */
  readonly perTerm: number;
}

const kernels: { readonly [D in 'float32' | PlainProductDType]: () => ProductKernel } = {
  float32: () => ({ run: gemmKernels().product, elementBytes: 4, perTerm }),
  float64: () => ({ run: plainProducts().float64, elementBytes: 8, perTerm: 0.15 }),
  int32: () => ({ run: plainProducts().int32, elementBytes: 4, perTerm: 0.1 }),
};

/**
 * The minimum nanoseconds, and rows or columns, of a part, because each part packs both factors. Parts needed to keep
 * all threads busy may be smaller.
 */
const least = { nanoseconds: 40_000, side: 64 };
const leastOfFew = { nanoseconds: 15_000, side: 32 };
const leastOfTwo = { nanoseconds: 6_000, side: 32 };
const few = 4;

/** Enough for threads to finish at about the same time. More parts would pack more often. */
const partsPerThread = 8;

/** Returns the rows and columns of a part; no sum depends on them. */
function partSides({ m, n, k }: Sizes, perTerm: number): readonly [rows: number, columns: number] {
  let [rows, columns] = [m, n];
  const enough = partsPerThread * pool.threads;
  const term = k * perTerm;
  const isWorthIt = (): boolean => {
    const parts = Math.ceil(m / rows) * Math.ceil(n / columns);
    if (parts >= enough) return false;
    const { nanoseconds, side } = parts === 1 ? leastOfTwo : parts < few ? leastOfFew : least;
    return rows * columns * term >= 2 * nanoseconds && Math.max(rows, columns) >= 2 * side;
  };
  // Halves the longer side, which keeps parts square; rows and columns end at tile boundaries.
  while (isWorthIt()) {
    if (rows > columns) rows = Math.ceil(rows / 2 / 12) * 12;
    else columns = Math.ceil(columns / 2 / 8) * 8;
  }
  return [rows, columns];
}

/** Products of pairs of matrices of one size, by address, whose parts are distributed over all threads. */
class Products extends Parts {
  readonly #sizes: Sizes;
  readonly #a: Factor;
  readonly #b: Factor;
  readonly #cRow: number;
  readonly #side: readonly [rows: number, columns: number];
  readonly #kernel: ProductKernel;

  constructor(kernel: ProductKernel, sizes: Sizes, a: Factor, b: Factor, cRow: number) {
    super(kernel.run, 12);
    this.#kernel = kernel;
    this.#sizes = sizes;
    this.#a = a;
    this.#b = b;
    this.#cRow = cRow;
    this.#side = partSides(sizes, kernel.perTerm);
  }

  get nanoseconds(): number {
    const { m, n, k } = this.#sizes;
    return m * n * k * this.#kernel.perTerm;
  }

  multiply(a: number, b: number, c: number): void {
    const { m, n, k, start = 0 } = this.#sizes;
    const { rowStep: aRow, columnStep: aColumn } = this.#a;
    const { rowStep: bRow, columnStep: bColumn } = this.#b;
    const { run } = this.#kernel;
    run(a, b, c, m, n, k, aRow, aColumn, bRow, bColumn, this.#cRow, start);
  }

  /** Adds a product to those that `run` computes; call `run` after the last one. */
  add(a: number, b: number, c: number): void {
    const { m, n, k, start = 0 } = this.#sizes;
    const [height, width] = this.#side;
    const { elementBytes } = this.#kernel;
    const { numbers } = pool;
    for (let column = 0; column < n; column += width) {
      for (let row = 0; row < m; row += height) {
        let at = this.nextAt();
        numbers[at++] = a + row * this.#a.rowStep;
        numbers[at++] = b + column * this.#b.columnStep;
        numbers[at++] = c + row * this.#cRow + column * elementBytes;
        numbers[at++] = Math.min(height, m - row);
        numbers[at++] = Math.min(width, n - column);
        numbers[at++] = k;
        numbers[at++] = this.#a.rowStep;
        numbers[at++] = this.#a.columnStep;
        numbers[at++] = this.#b.rowStep;
        numbers[at++] = this.#b.columnStep;
        numbers[at++] = this.#cRow;
        numbers[at++] = start;
      }
    }
  }
}

/** Products of one row and a matrix whose elements are adjacent along rows or columns. */
class RowProducts extends Parts {
  readonly #n: number;
  readonly #k: number;
  readonly #xStep: number;
  readonly #b: Factor;
  readonly #width: number;
  readonly #kernel = gemmKernels().vectorProduct;

  constructor({ n, k }: Sizes, xStep: number, b: Factor) {
    super(gemmKernels().vectorProduct, 8);
    this.#n = n;
    this.#k = k;
    this.#xStep = xStep;
    this.#b = b;
    const enough = Math.ceil(least.nanoseconds / 2 / Math.max(1, k * perRowTerm));
    const columns = Math.max(least.side, enough);
    this.#width = Math.ceil(columns / 8) * 8;
  }

  get nanoseconds(): number {
    return this.#n * this.#k * perRowTerm;
  }

  multiply(x: number, b: number, out: number): void {
    const { rowStep, columnStep } = this.#b;
    this.#kernel(x, this.#xStep, b, rowStep, columnStep, out, this.#n, this.#k);
  }

  add(x: number, b: number, out: number): void {
    const { numbers } = pool;
    for (let column = 0; column < this.#n; column += this.#width) {
      let at = this.nextAt();
      numbers[at++] = x;
      numbers[at++] = this.#xStep;
      numbers[at++] = b + column * this.#b.columnStep;
      numbers[at++] = this.#b.rowStep;
      numbers[at++] = this.#b.columnStep;
      numbers[at++] = out + column * 4;
      numbers[at++] = Math.min(this.#width, this.#n - column);
      numbers[at++] = this.#k;
    }
  }
}

const isRun = ({ rowStep, columnStep }: Factor): boolean => rowStep === 4 || columnStep === 4;

const transposed = ({ rowStep, columnStep }: Factor): Factor => ({
  rowStep: columnStep,
  columnStep: rowStep,
});

interface Bound {
  readonly products: Products | RowProducts;
  /** Whether the factors are swapped: a column of the result is a row of its transpose. */
  readonly isSwapped: boolean;
}

function bind(sizes: Sizes, a: Factor, b: Factor, cRow: number): Bound {
  const { m, n, k } = sizes;
  if (m === 1 && isRun(b)) {
    return { products: new RowProducts(sizes, a.columnStep, b), isSwapped: false };
  }
  if (n === 1 && cRow === 4 && isRun(a)) {
    const products = new RowProducts({ m: 1, n: m, k }, b.rowStep, transposed(a));
    return { products, isSwapped: true };
  }
  return { products: new Products(kernels.float32(), sizes, a, b, cRow), isSwapped: false };
}

/** Whether a kernel is generated for products of this dtype with sums of this length. */
function isGenerated(dtype: DType, k: number): dtype is 'float32' | PlainProductDType {
  if (!hasSimd) return false;
  return dtype === 'float32' || (isPlain(dtype) && k <= longestPlainSum);
}

const isPlain = (dtype: DType): dtype is PlainProductDType =>
  dtype === 'float64' || dtype === 'int32';

export const matmul: KernelFactory = (inputs, outputs, attrs): Launch => {
  const [a, b] = inputs;
  const { dtype } = outputs[0]!;
  if (!isGenerated(dtype, a!.shape.at(-1)!)) return scalarMatmul(inputs, outputs, attrs);
  const elementBytes = dtypes[dtype].bytes;
  const [out] = outputs;
  const rank = out!.shape.length;
  const n = out!.shape[rank - 1]!;
  const k = a!.shape[rank - 1]!;
  const bytes = (strides: readonly number[]) => strides.map((stride) => stride * elementBytes);
  const [aSteps, bSteps, cSteps] = [a!, b!, out!].map((meta) => bytes(meta.strides)) as [
    number[],
    number[],
    number[],
  ];
  // b is the same for all rows. If it is also the same for the whole batch, as in a linear layer on [batch, time,
  // features], batch and rows are merged into one matrix.
  const outer = collapse(out!.shape.slice(0, -1), [
    aSteps.slice(0, -1),
    [...bSteps.slice(0, -2), 0],
    cSteps.slice(0, -1),
  ]);
  const [aOuter, bOuter, cOuter] = outer.strides as [number[], number[], number[]];
  const last = outer.shape.length - 1;
  const hasRows = last >= 0 && bOuter[last] === 0;
  const batch = hasRows ? last : last + 1;
  const m = hasRows ? outer.shape[last]! : 1;
  const sizes = { m, n, k };
  const left = { rowStep: hasRows ? aOuter[last]! : 0, columnStep: aSteps[rank - 1]! };
  const right = { rowStep: bSteps[rank - 2]!, columnStep: bSteps[rank - 1]! };
  const cRow = hasRows ? cOuter[last]! : 0;
  const { products, isSwapped }: Bound =
    dtype === 'float32'
      ? bind(sizes, left, right, cRow)
      : { products: new Products(kernels[dtype](), sizes, left, right, cRow), isSwapped: false };
  let pairs = 1;
  for (let d = 0; d < batch; d++) pairs *= outer.shape[d]!;
  const work = products.nanoseconds * pairs;
  const overBatch = (
    isShared: boolean,
    dim: number,
    aAt: number,
    bAt: number,
    cAt: number,
  ): void => {
    if (dim === batch) {
      const [left, right] = isSwapped ? [bAt, aAt] : [aAt, bAt];
      if (isShared) products.add(left, right, cAt);
      else products.multiply(left, right, cAt);
      return;
    }
    const [aStep, bStep, cStep] = [aOuter[dim]!, bOuter[dim]!, cOuter[dim]!];
    for (let i = 0; i < outer.shape[dim]!; i++) {
      overBatch(isShared, dim + 1, aAt + i * aStep, bAt + i * bStep, cAt + i * cStep);
    }
  };
  return ([left, right], [target]) => {
    const isShared = pool.shares(work);
    const [aAt, bAt] = [addressOf(left!, dtype), addressOf(right!, dtype)];
    overBatch(isShared, 0, aAt, bAt, addressOf(target!, dtype));
    if (isShared) products.run();
  };
};

/** The op ensures rank 2. */
export const addMatmul: KernelFactory = ([, a, b], [out], attrs): Launch => {
  const start = attrs.start as number;
  const [m, n] = out!.shape as [number, number];
  const steps = ({ strides: [row, column] }: TensorMeta): Factor => ({
    rowStep: row! * 4,
    columnStep: column! * 4,
  });
  const k = a!.shape[1]!;
  const sizes = { m, n, k, start };
  const products = new Products(
    kernels.float32(),
    sizes,
    steps(a!),
    steps(b!),
    out!.strides[0]! * 4,
  );
  return ([, left, right], [target]) => {
    const [aAt, bAt, cAt] = [left!, right!, target!].map((x) => addressOf(x, 'float32')) as [
      number,
      number,
      number,
    ];
    if (!pool.shares(products.nanoseconds)) {
      products.multiply(aAt, bAt, cAt);
      return;
    }
    products.add(aAt, bAt, cAt);
    products.run();
  };
};
