import type { Attrs } from '../../ops/core/define-op.ts';
import type { Expr } from '../../ops/expr/expr.ts';
import { textOf } from '../../ops/expr/expr-nodes.ts';
import { type DType, dtypes } from '../../tensor/dtype.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor/meta.ts';
import { broadcastStrides, sameShape, sizeOf } from '../../tensor/shape.ts';
import type { Launch, Operand } from '../device.ts';
import { heap, partArgumentsAt, partArgumentsBytes } from './heap.ts';
import { addressOf } from './kernel.ts';
import { collapse, type Loops } from './loops.ts';
import { scalarPointwise, toInt32 } from './scalar/pointwise.ts';
import { argumentsAt, argumentsBytes } from './scratch.ts';
import { mostParts } from './threads/control.ts';
import { pool } from './threads/pool.ts';
import type { Walk } from './wasm/assembler/elements.ts';
import type { NumberForm } from './wasm/assembler/expr-emitter.ts';
import { hasSimd, type Kernel } from './wasm/assembler/module-builder.ts';
import { compilePointwise, type PointwiseKernel } from './wasm/pointwise-kernel.ts';

/** Binds the kernel of a scalar function. */
export function pointwise(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
  attrs: Attrs,
): Launch {
  // Three arguments an operand, two an attribute; no op comes near the limit.
  if (!hasSimd || inputs.length * 12 > argumentsBytes / 2) {
    const launch = scalarPointwise(expr, inputs, output, attrs);
    return (sources, targets, now) =>
      (now ? scalarPointwise(expr, inputs, output, now) : launch)(sources, targets);
  }
  if (isFlat(inputs, output)) return bindFlat(expr, inputs, output, attrs);
  const metas = [output, ...inputs];
  const loops = loopsOver(metas, output);
  const kinds = metas.map((meta) => meta.dtype);
  const inner = loops.shape.length - 1;
  const walks = loops.strides.map((strides, k) => walkOf(strides[inner]!, k === 0));
  const launch = bindLoops(kernelFor(expr, kinds, walks), { loops, kinds, written: first }, attrs);
  // The kernel's operand 0 is the output.
  return (sources, targets, now) => launch(targets, sources, now);
}

/** Whether all operands are alike and dense, which is most of the time: one loop over all elements. */
function isFlat(inputs: readonly TensorMeta[], output: TensorMeta): boolean {
  if (!isContiguousMeta(output)) return false;
  for (const input of inputs) {
    if (!sameShape(input.shape, output.shape) || !isContiguousMeta(input)) return false;
  }
  return true;
}

function loopsOver(metas: readonly TensorMeta[], { shape }: TensorMeta): Loops {
  const loops = collapse(
    shape,
    metas.map((meta) => broadcastStrides(meta.shape, meta.strides, shape)),
  );
  return loops.shape.length > 0 ? loops : { shape: [1], strides: metas.map(() => [1]) };
}

export function walkOf(stride: number, isOutput: boolean): Walk {
  if (stride === 1) return 'contiguous';
  return stride === 0 && !isOutput ? 'fixed' : 'strided';
}

const kernels = new WeakMap<Expr, Map<string | number, PointwiseKernel>>();
/** The same by structure: passes build equal expressions again. */
const kernelsByText = new Map<string, PointwiseKernel>();

const dtypeCodes: { readonly [D in DType]: number } = {
  float32: 0,
  int32: 1,
  bool: 2,
  float64: 3,
  uint8: 4,
  float16: 5,
  bfloat16: 6,
};
const walkCodes: { readonly [W in Walk]: number } = { contiguous: 0, fixed: 8, strided: 16 };

/** A digit of base 24 for each operand after a leading 1, while that fits in a number. */
function signatureKey(kinds: readonly DType[], walks: readonly Walk[]): string | number {
  if (kinds.length > 11) return `${kinds} ${walks}`;
  let digits = 1;
  for (let k = 0; k < kinds.length; k++) {
    digits = digits * 24 + dtypeCodes[kinds[k]!] + walkCodes[walks[k]!];
  }
  return digits;
}

function kernelFor(expr: Expr, kinds: readonly DType[], walks: readonly Walk[]): PointwiseKernel {
  let ofExpr = kernels.get(expr);
  if (!ofExpr) {
    ofExpr = new Map();
    kernels.set(expr, ofExpr);
  }
  const key = signatureKey(kinds, walks);
  let kernel = ofExpr.get(key);
  if (!kernel) {
    const text = `${key} ${textOf(expr)}`;
    kernel = kernelsByText.get(text) ?? compilePointwise({ expr, dtypes: kinds, walks });
    kernelsByText.set(text, kernel);
    ofExpr.set(key, kernel);
  }
  return kernel;
}

const attrBits = new Int32Array(2);
const attrFloat = new Float32Array(attrBits.buffer);
const attrDouble = new Float64Array(attrBits.buffer);

/** Puts a number's words into `attrBits`; returns how many. */
function bitsOf(value: number, form: NumberForm): number {
  if (form === 'i32') attrBits[0] = toInt32(value);
  else if (form === 'f32') attrFloat[0] = value;
  else attrDouble[0] = value;
  return form === 'f64' ? 2 : 1;
}

/** Lists of 'contiguous' by length, so that the usual case allocates none. */
const contiguousWalks: Walk[][] = [];

const argumentWords = argumentsAt / 4;
const partWords = partArgumentsAt / 4;

/** Elements that are computed in one go: a kernel computes vectors of up to 4, from the start of a row. */
const vectors = 16;

/** Parts of `length` that take at least so many nanoseconds each, and end where vectors do. */
function partLength(length: number, nanoseconds: number): number {
  const least = Math.ceil(leastPart / nanoseconds);
  const parts = Math.max(1, Math.min(mostFlatParts, Math.floor(length / least)));
  return Math.ceil(length / parts / vectors) * vectors;
}

const leastPart = 15_000;
const mostFlatParts = 64;

function bindFlat(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
  attrs: Attrs,
): Launch {
  const count = inputs.length + 1;
  const kinds = [output.dtype];
  for (const input of inputs) kinds.push(input.dtype);
  contiguousWalks[count] ??= new Array<Walk>(count).fill('contiguous');
  const kernel = kernelFor(expr, kinds, contiguousWalks[count]);
  const { run } = kernel;
  const size = sizeOf(output.shape);
  const work = size * kernel.nanoseconds;
  const attrWords = attrWordsOf(kernel, attrs);
  return (sources, targets, now) => {
    const words = heap.i32;
    words[argumentWords] = addressOf(targets[0]!, kinds[0]!);
    for (let k = 1; k < count; k++) {
      words[argumentWords + k * 3] = addressOf(sources[k - 1]!, kinds[k]!);
    }
    putAttrs(kernel, now, attrWords, argumentWords + count * 3);
    if (pool.shares(work) && !isOtherPlace(sources, targets[0]!)) runFlatParts(kernel, kinds, size);
    else run(argumentsAt, size, 1);
  };
}

/** Whether an operand shows the target's memory from another element on. */
function isOtherPlace(sources: readonly Operand[], target: Operand): boolean {
  for (let k = 0; k < sources.length; k++) {
    const { holder, offset } = sources[k]!;
    if (holder === target.holder && offset !== target.offset) return true;
  }
  return false;
}

/** The same in parts, whose arguments are those of the whole, shifted. */
function runFlatParts(kernel: PointwiseKernel, kinds: readonly DType[], size: number): void {
  const words = heap.i32;
  const { numbers } = pool;
  const length = partLength(size, kernel.nanoseconds);
  const count = kinds.length;
  let parts = 0;
  for (let from = 0; from < size; from += length) {
    const block = parts * count * 3;
    for (let k = 0; k < count; k++) {
      const shift = from * dtypes[kinds[k]!].bytes;
      words[partWords + block + k * 3] = words[argumentWords + k * 3]! + shift;
    }
    numbers[parts * 3] = (partWords + block) * 4;
    numbers[parts * 3 + 1] = Math.min(length, size - from);
    numbers[parts * 3 + 2] = 1;
    parts++;
  }
  pool.run(kernel.run as Kernel, parts, 3);
}

const noWords: readonly number[] = [];

function attrWordsOf({ attrs: names }: PointwiseKernel, attrs: Attrs): readonly number[] {
  if (names.length === 0) return noWords;
  const words: number[] = [];
  for (const { name, form } of names) {
    const count = bitsOf(attrs[name] as number, form);
    for (let k = 0; k < count; k++) words.push(attrBits[k]!);
  }
  return words;
}

/** The attributes as the kernel reads them: `bound` unless there are numbers of this launch. */
function putAttrs(
  { attrs: names }: PointwiseKernel,
  now: Attrs | undefined,
  bound: readonly number[],
  at: number,
): void {
  const words = heap.i32;
  if (!now) {
    for (let i = 0; i < bound.length; i++) words[at + i] = bound[i]!;
    return;
  }
  let to = at;
  for (let i = 0; i < names.length; i++) {
    const { name, form } = names[i]!;
    const count = bitsOf(now[name] as number, form);
    for (let k = 0; k < count; k++) words[to++] = attrBits[k]!;
  }
}

const first: readonly number[] = [0];

/** Operands of a kernel: those of its launch, inputs before outputs. */
export interface Nest {
  readonly loops: Loops;
  readonly kinds: readonly DType[];
  /** Numbers of those that the kernel writes. */
  readonly written: readonly number[];
}

/** Binds a kernel to a nest of loops. */
export function bindLoops(
  kernel: PointwiseKernel,
  { loops, kinds, written }: Nest,
  attrs: Attrs,
): Launch {
  const { run } = kernel;
  const rank = loops.shape.length;
  const n = loops.shape[rank - 1]!;
  const rows = rank > 1 ? loops.shape[rank - 2]! : 1;
  const count = kinds.length;
  const steps = loops.strides.map((strides, k) => strides.map((s) => s * dtypes[kinds[k]!].bytes));
  const attrWords = attrWordsOf(kernel, attrs);
  const outer = loops.shape.slice(0, -2);
  const addresses = new Array<number>(count).fill(0);
  const work = sizeOf(loops.shape) * kernel.nanoseconds;
  const parts = new NestParts(kernel, kinds.length, { n, rows });

  const runOuter = (dim: number, isShared: boolean): void => {
    if (dim === outer.length) {
      if (isShared) {
        parts.add(addresses, steps);
        return;
      }
      const words = heap.i32;
      for (let k = 0; k < count; k++) words[argumentWords + k * 3] = addresses[k]!;
      run(argumentsAt, n, rows);
      return;
    }
    for (let i = 0; i < outer[dim]!; i++) {
      runOuter(dim + 1, isShared);
      for (let k = 0; k < count; k++) addresses[k]! += steps[k]![dim]!;
    }
    for (let k = 0; k < count; k++) addresses[k]! -= outer[dim]! * steps[k]![dim]!;
  };

  const operands = new Array<Operand>(count);
  return (inputs: readonly Operand[], outputs: readonly Operand[], now?: Attrs) => {
    const words = heap.i32;
    for (let k = 0; k < count; k++) {
      operands[k] = k < inputs.length ? inputs[k]! : outputs[k - inputs.length]!;
      addresses[k] = addressOf(operands[k]!, kinds[k]!);
      words[argumentWords + k * 3 + 1] = rank > 1 ? steps[k]![rank - 2]! : 0;
      words[argumentWords + k * 3 + 2] = steps[k]![rank - 1]!;
    }
    putAttrs(kernel, now, attrWords, argumentWords + count * 3);
    const isShared = parts.areWorthIt && pool.shares(work) && !overlaps(operands, written, steps);
    runOuter(0, isShared);
    if (isShared) parts.run();
  };
}

/** A kernel over one loop of dense operands: those of its launch, inputs before outputs. */
export interface Flat {
  readonly kernel: PointwiseKernel;
  readonly kinds: readonly DType[];
  /** Numbers of the operands that it writes. */
  readonly written: readonly number[];
  readonly size: number;
}

/** The kernel of a scalar function over one loop of dense operands, its output first; null where they aren't dense. */
export function flatPointwise(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
): Flat | null {
  if (!hasSimd || !isFlat(inputs, output)) return null;
  const kinds = [output, ...inputs].map(({ dtype }) => dtype);
  const walks = kinds.map((): Walk => 'contiguous');
  const kernel = kernelFor(expr, kinds, walks);
  return { kernel, kinds, written: first, size: sizeOf(output.shape) };
}

/** The operands of a launch are in lists that the caller fills. */
export interface FlatItem extends Flat {
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
}

/**
 * Binds one kernel to the operands of several ops, which are apart, with the same attributes. The launch returns
 * false, and has done nothing, where an operand lies in another one's memory.
 */
export function bindFlatList(
  items: readonly FlatItem[],
  attrs: Attrs,
): (now: Attrs | undefined) => boolean {
  const { kernel, kinds } = items[0]!;
  const { run } = kernel;
  const count = kinds.length;
  const attrWords = attrWordsOf(kernel, attrs);
  const work = items.reduce((sum, { size }) => sum + size * kernel.nanoseconds, 0);
  const steps = kinds.map(() => [1]);
  const most = Math.min(mostParts, Math.floor(partArgumentsBytes / (count * 12)));
  const elementBytes = kinds.map((dtype) => dtypes[dtype].bytes);
  let parts = 0;
  const runParts = (): void => {
    if (parts > 0) pool.run(run as Kernel, parts, 3);
    parts = 0;
  };
  const operandOf = ({ inputs, outputs }: FlatItem, k: number): Operand =>
    k < inputs.length ? inputs[k]! : outputs[k - inputs.length]!;
  const addParts = (item: FlatItem): void => {
    const { numbers } = pool;
    const length = partLength(item.size, kernel.nanoseconds);
    for (let from = 0; from < item.size; from += length) {
      if (parts === most) runParts();
      const words = heap.i32;
      const block = partWords + parts * count * 3;
      for (let k = 0; k < count; k++) {
        words[block + k * 3] = addressOf(operandOf(item, k), kinds[k]!) + from * elementBytes[k]!;
      }
      numbers[parts * 3] = block * 4;
      numbers[parts * 3 + 1] = Math.min(length, item.size - from);
      numbers[parts * 3 + 2] = 1;
      parts++;
    }
  };
  const runItem = (item: FlatItem): void => {
    const words = heap.i32;
    for (let k = 0; k < count; k++) {
      words[argumentWords + k * 3] = addressOf(operandOf(item, k), kinds[k]!);
    }
    run(argumentsAt, item.size, 1);
  };
  const operands = new Array<Operand>(count);
  const lieApart = (item: FlatItem): boolean => {
    for (let k = 0; k < count; k++) operands[k] = operandOf(item, k);
    return !overlaps(operands, item.written, steps);
  };
  return (now) => {
    if (!items.every(lieApart)) return false;
    putAttrs(kernel, now, attrWords, argumentWords + count * 3);
    const isShared = pool.shares(work);
    for (const item of items) {
      if (isShared) addParts(item);
      else if (item.size > 0) runItem(item);
    }
    runParts();
    return true;
  };
}

/**
 * Whether a kernel reads in one place what it writes in another, so that its results depend on the order in which
 * it goes over elements.
 */
function overlaps(
  operands: readonly Operand[],
  written: readonly number[],
  steps: readonly (readonly number[])[],
): boolean {
  for (let i = 0; i < written.length; i++) {
    const { holder, offset } = operands[written[i]!]!;
    const own = steps[written[i]!]!;
    for (let k = 0; k < operands.length; k++) {
      if (operands[k]!.holder !== holder) continue;
      if (operands[k]!.offset !== offset || differ(own, steps[k]!)) return true;
    }
  }
  return false;
}

function differ(a: readonly number[], b: readonly number[]): boolean {
  return a.some((step, d) => step !== b[d]);
}

/** A call takes longer than a thread needs to take it. */
const leastCall = 500;

/** The calls of a kernel over a nest of loops: rows, or parts of long rows, of its two inner dimensions. */
class NestParts {
  readonly #kernel: PointwiseKernel;
  readonly #operands: number;
  readonly #most: number;
  readonly #n: number;
  readonly #rows: number;
  /** Rows of a part, and elements of each. */
  readonly #height: number;
  readonly #width: number;
  #parts = 0;

  constructor(kernel: PointwiseKernel, operands: number, inner: { n: number; rows: number }) {
    this.#kernel = kernel;
    this.#operands = operands;
    this.#n = inner.n;
    this.#rows = inner.rows;
    this.#most = Math.min(mostParts, Math.floor(partArgumentsBytes / (operands * 12)));
    const { nanoseconds } = kernel;
    this.#width = partLength(inner.n, nanoseconds);
    const rowWork = Math.min(inner.n, this.#width) * nanoseconds;
    this.#height = Math.max(1, Math.ceil(leastPart / rowWork));
  }

  get areWorthIt(): boolean {
    return this.#n * this.#rows * this.#kernel.nanoseconds >= leastCall;
  }

  /** Parts of the two inner dimensions, of which each operand's first element is at its address. */
  add(addresses: readonly number[], steps: readonly (readonly number[])[]): void {
    for (let row = 0; row < this.#rows; row += this.#height) {
      const height = Math.min(this.#height, this.#rows - row);
      for (let from = 0; from < this.#n; from += this.#width) {
        if (this.#parts === this.#most) this.run();
        const words = heap.i32;
        const block = partWords + this.#parts * this.#operands * 3;
        for (let k = 0; k < this.#operands; k++) {
          const rowStep = words[argumentWords + k * 3 + 1]!;
          const step = steps[k]!.at(-1)!;
          words[block + k * 3] = addresses[k]! + row * rowStep + from * step;
          words[block + k * 3 + 1] = rowStep;
          words[block + k * 3 + 2] = step;
        }
        const { numbers } = pool;
        numbers[this.#parts * 3] = block * 4;
        numbers[this.#parts * 3 + 1] = Math.min(this.#width, this.#n - from);
        numbers[this.#parts * 3 + 2] = height;
        this.#parts++;
      }
    }
  }

  run(): void {
    pool.run(this.#kernel.run as Kernel, this.#parts, 3);
    this.#parts = 0;
  }
}
