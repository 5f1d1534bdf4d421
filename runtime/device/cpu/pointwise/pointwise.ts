import type { Expr } from '../../../ops/expr/expr.ts';
import { textOf } from '../../../ops/expr/expr-nodes.ts';
import { type DType, dtypes } from '../../../spec/dtype.ts';
import { broadcastStrides, sameShape, sizeOf } from '../../../spec/shape.ts';
import type { Launch, Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import { heap } from '../core/heap.ts';
import { addressOf } from '../core/kernel.ts';
import { collapse, type Loops } from '../core/loops.ts';
import { argumentsAt, argumentsBytes } from '../core/scratch.ts';
import { scalarPointwise } from '../scalar/pointwise.ts';
import { pool } from '../threads/pool.ts';
import type { Walk } from '../wasm/assembler/elements.ts';
import { hasSimd, type Kernel, lazily } from '../wasm/assembler/module-builder.ts';
import { compilePointwise, type PointwiseKernel } from '../wasm/pointwise-kernel.ts';
import { argumentWords, attrWordsOf, partLength, partWords, putAttrs } from './call-arguments.ts';
import type { Flat } from './flat-list.ts';
import { bindLoops } from './nest.ts';

/** Binds the kernel of a scalar function. */
export function pointwise(
  expr: Expr,
  inputs: readonly TensorMeta[],
  output: TensorMeta,
  attrs: Attrs,
): Launch {
  // Three arguments per operand, two per attribute; no op comes near the limit.
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

/** Whether all operands have the same dense layout, as usual: one loop over all elements. */
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

const kernels = lazily(() => new WeakMap<Expr, Map<string | number, PointwiseKernel>>());
/** Kernels by the structure of their expressions, because passes build equal expressions repeatedly. */
const kernelsByText = lazily(() => new Map<string, PointwiseKernel>());

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

/** Encodes each operand as a digit in base 24 after a leading 1, if that fits into a number. */
function signatureKey(kinds: readonly DType[], walks: readonly Walk[]): string | number {
  if (kinds.length > 11) return `${kinds} ${walks}`;
  let digits = 1;
  for (let k = 0; k < kinds.length; k++) {
    digits = digits * 24 + dtypeCodes[kinds[k]!] + walkCodes[walks[k]!];
  }
  return digits;
}

function kernelFor(expr: Expr, kinds: readonly DType[], walks: readonly Walk[]): PointwiseKernel {
  let ofExpr = kernels().get(expr);
  if (!ofExpr) {
    ofExpr = new Map();
    kernels().set(expr, ofExpr);
  }
  const key = signatureKey(kinds, walks);
  let kernel = ofExpr.get(key);
  if (!kernel) {
    const text = `${key} ${textOf(expr)}`;
    kernel = kernelsByText().get(text) ?? compilePointwise({ expr, dtypes: kinds, walks });
    kernelsByText().set(text, kernel);
    ofExpr.set(key, kernel);
  }
  return kernel;
}

/** Lists of 'contiguous' by length, so that the usual case allocates none. */
const contiguousWalks: Walk[][] = [];

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

/** Whether an operand has the target's memory at another offset. */
function isOtherPlace(sources: readonly Operand[], target: Operand): boolean {
  for (let k = 0; k < sources.length; k++) {
    const { holder, offset } = sources[k]!;
    if (holder === target.holder && offset !== target.offset) return true;
  }
  return false;
}

/** Runs a flat kernel in parts, with the addresses in its arguments shifted for each. */
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

const first: readonly number[] = [0];

/** Returns a scalar function's kernel over one loop of dense operands, output first; null if they aren't dense. */
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
