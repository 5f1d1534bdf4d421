import { type DType, dtypes } from '../../../spec/dtype.ts';
import { sizeOf } from '../../../spec/shape.ts';
import type { Launch, Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { heap, partArgumentsBytes } from '../core/heap.ts';
import type { Loops } from '../core/loops.ts';
import { argumentsAt } from '../core/scratch.ts';
import { mostParts } from '../threads/control.ts';
import { Parts } from '../threads/parts.ts';
import { pool } from '../threads/pool.ts';
import type { Kernel } from '../wasm/assembler/module-builder.ts';
import type { PointwiseKernel } from '../wasm/pointwise-kernel.ts';

import {
  argumentWords,
  attrWordsOf,
  overlaps,
  partCount,
  partLength,
  partWords,
  putAttrs,
} from './call-arguments.ts';

/** Operands of a kernel: those of its launch, inputs before outputs. */
export interface Nest {
  readonly loops: Loops;
  readonly kinds: readonly DType[];
  /** Indices of the operands that the kernel writes. */
  readonly written: readonly number[];
}

/** Binds a kernel to a loop nest. */
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
  const elementBytes = kinds.map((dtype) => dtypes[dtype].bytes);
  const steps = loops.strides.map((strides, k) => strides.map((s) => s * elementBytes[k]!));
  const rowSteps = steps.map((each) => each[rank - 2] ?? 0);
  const elementSteps = steps.map((each) => each[rank - 1]!);
  const attrWords = attrWordsOf(kernel, attrs);
  const outer = loops.shape.slice(0, -2);
  const addresses = new Array<number>(count).fill(0);
  const work = sizeOf(loops.shape) * kernel.nanoseconds;
  const parts = new NestParts(kernel, kinds.length, { n, rows });

  const runOuter = (dim: number, isShared: boolean): void => {
    if (dim === outer.length) {
      if (isShared) {
        parts.add(addresses);
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
      const operand = k < inputs.length ? inputs[k]! : outputs[k - inputs.length]!;
      operands[k] = operand;
      addresses[k] = operand.holder!.ptr + operand.offset * elementBytes[k]!;
      words[argumentWords + k * 3] = addresses[k]!;
      words[argumentWords + k * 3 + 1] = rowSteps[k]!;
      words[argumentWords + k * 3 + 2] = elementSteps[k]!;
    }
    putAttrs(kernel, now, attrWords, argumentWords + count * 3);
    const isShared = parts.areWorthIt && pool.shares(work) && !overlaps(operands, written, steps);
    if (isShared || outer.length > 0) runOuter(0, isShared);
    else run(argumentsAt, n, rows);
    if (isShared) parts.run();
  };
}

/** The minimum duration of a call in nanoseconds: longer than a thread takes to fetch it. */
const leastCall = 500;

/** The calls of a kernel over a loop nest: rows, or parts of long rows, of its two inner dimensions. */
class NestParts extends Parts {
  readonly #operands: number;
  readonly #n: number;
  readonly #rows: number;
  /** The rows of a part, and the elements of each row. */
  readonly #height: number;
  readonly #width: number;
  readonly areWorthIt: boolean;

  constructor(kernel: PointwiseKernel, operands: number, inner: { n: number; rows: number }) {
    const most = Math.min(mostParts, Math.floor(partArgumentsBytes / (operands * 12)));
    super(kernel.run as Kernel, 3, most);
    this.#operands = operands;
    this.#n = inner.n;
    this.#rows = inner.rows;
    const { nanoseconds } = kernel;
    this.#width = partLength(inner.n, nanoseconds);
    const rowWork = Math.min(inner.n, this.#width) * nanoseconds;
    this.#height = Math.ceil(inner.rows / partCount(inner.rows * rowWork));
    this.areWorthIt = inner.n * inner.rows * nanoseconds >= leastCall;
  }

  /**
   * Adds parts of the two inner dimensions, with each operand's first element at its address and its steps in the
   * arguments of the call.
   */
  add(addresses: readonly number[]): void {
    for (let row = 0; row < this.#rows; row += this.#height) {
      const height = Math.min(this.#height, this.#rows - row);
      for (let from = 0; from < this.#n; from += this.#width) {
        const part = this.next();
        const words = heap.i32;
        const block = partWords + part * this.#operands * 3;
        for (let k = 0; k < this.#operands; k++) {
          const rowStep = words[argumentWords + k * 3 + 1]!;
          const step = words[argumentWords + k * 3 + 2]!;
          words[block + k * 3] = addresses[k]! + row * rowStep + from * step;
          words[block + k * 3 + 1] = rowStep;
          words[block + k * 3 + 2] = step;
        }
        const { numbers } = pool;
        numbers[part * 3] = block * 4;
        numbers[part * 3 + 1] = Math.min(this.#width, this.#n - from);
        numbers[part * 3 + 2] = height;
      }
    }
  }
}
