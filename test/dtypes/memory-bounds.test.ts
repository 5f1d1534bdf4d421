/**
 * Kernels read and write the memory of their operands alone, whatever dtypes these have: every op, every
 * dtype for every operand, with bytes around each tensor that must neither reach a result nor change.
 */

import { describe, expect, it } from 'vitest';
import { heap } from '../../runtime/device/cpu/core/heap.ts';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { Holder } from '../../runtime/device/holder.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import { contiguousMeta, formatSpec, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { sizeOf } from '../../runtime/spec/shape.ts';
import { storedNumbers } from '../../runtime/spec/stored-numbers.ts';
import { float, forwardCases, int } from '../ops/cases/forward-cases.ts';
import { type Input, valuesOf } from '../ops/cases/forward-dtypes.ts';
import { allocated } from '../ops/eager.ts';
import { shareOfDay } from '../share-of-day.ts';

interface Example {
  readonly inputs: readonly Input[];
  readonly attrs?: Attrs;
}

const rows = { view: [3, 8], over: [1], weightShape: [8], eps: 1e-5, centered: true };
const channels = { view: [2, 3, 4], over: [0, 2], weightShape: [3, 1], eps: 1e-5, centered: true };
const groups = {
  view: [2, 2, 2, 4],
  over: [2, 3],
  weightShape: [2, 2, 1],
  eps: 0,
  centered: false,
};
const standardized = [
  { attrs: rows, shape: [3, 8], stats: [3, 2], weight: [8] },
  { attrs: channels, shape: [2, 3, 4], stats: [3, 2], weight: [3] },
  { attrs: groups, shape: [2, 4, 4], stats: [4, 2], weight: [4] },
];
const pool = { kernel: [2, 2], stride: [2, 2], padding: [0, 0], dilation: [1, 1], size: [2, 2] };
const conv = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 };

/** Ops whose references lie elsewhere. */
const furtherExamples: Readonly<Record<string, readonly Example[]>> = {
  standardizeGrad: standardized.map(({ attrs, shape, stats }) => ({
    inputs: [float(shape), float(shape), float(stats)],
    attrs,
  })),
  standardizeAffineGrad: standardized.map(({ attrs, shape, stats, weight }) => ({
    inputs: [float(shape), float(shape), float(stats), float(weight)],
    attrs,
  })),
  standardizeByStats: standardized.map(({ attrs, shape, stats }) => ({
    inputs: [float(shape), float(stats)],
    attrs,
  })),
  standardizeAffineByStats: standardized.map(({ attrs, shape, stats, weight }) => ({
    inputs: [float(shape), float(stats), float(weight), float(weight)],
    attrs,
  })),
  standardizeWeightGrad: standardized.map(({ attrs, shape, stats, weight }) => ({
    inputs: [float(shape), float(shape), float(stats), float(weight)],
    attrs,
  })),
  addStandardizeWeightGrad_: [
    { inputs: [[8], [3, 8], [3, 8], [3, 2], [8]].map((shape) => float(shape)), attrs: rows },
  ],
  addMatmul_: [{ inputs: [float([5, 6]), float([5, 4]), float([4, 6])], attrs: { start: 4 } }],
  addSum_: [{ inputs: [float([5]), float([4, 5])], attrs: { dims: [0], keepDim: false } }],
  addConv2dWeightGrad_: [
    {
      inputs: [
        [4, 3, 3, 3],
        [2, 4, 5, 5],
        [2, 3, 5, 5],
        [4, 3, 3, 3],
      ].map((s) => float(s)),
      attrs: conv,
    },
  ],
  nllLossShare: [{ inputs: [float([]), int([4], 0, 5)] }],
  crossEntropyGrad: [{ inputs: [float([]), int([4], 0, 5), float([4, 5])] }],
  labelScores: [{ inputs: [float([4, 5]), int([4], 0, 5)] }],
  nllLossOfScores: [{ inputs: [float([4]), int([4], 0, 5)], attrs: { classes: 5 } }],
  maxPool2d: [{ inputs: [float([1, 2, 4, 4])], attrs: pool }],
  quantize: [{ inputs: [float([3, 50])], attrs: { code: 'signed' } }],
  dequantize: [{ inputs: [int([3, 50], 0, 256), float([2])], attrs: { code: 'signed' } }],
  packBits: [{ inputs: [int([3, 5], 0, 2)] }],
  unpackBits: [{ inputs: [int([2], 0, 256)], attrs: { shape: [3, 5] } }],
  maxPool2dCoded: [{ inputs: [float([1, 2, 4, 4])], attrs: pool }],
  maxPool2dCodedGrad: [
    {
      inputs: [float([1, 2, 2, 2]), int([1, 2, 2, 2], 0, 2), float([1, 2, 4, 4])],
      attrs: pool,
    },
  ],
  maxPool2dGrad: [
    { inputs: [float([1, 2, 2, 2]), int([1, 2, 2, 2], 0, 16), float([1, 2, 4, 4])], attrs: pool },
  ],
};

const examplesOf = (name: string): readonly Example[] =>
  furtherExamples[name] ?? forwardCases[name] ?? [];

const allDTypes = Object.keys(dtypes) as DType[];

/** The examples with each operand, and each pair of operands, in every dtype. */
function* combinations({ inputs, attrs }: Example): Generator<Example> {
  for (let a = 0; a < inputs.length; a++) {
    for (let b = a; b < inputs.length; b++) {
      for (const dtype of allDTypes) {
        const changed = inputs.map((input, i) =>
          i === a || i === b ? { ...input, dtype } : input,
        );
        yield { inputs: changed, ...(attrs && { attrs }) };
      }
    }
  }
  for (const dtype of allDTypes) {
    yield { inputs: inputs.map((input) => ({ ...input, dtype })), ...(attrs && { attrs }) };
  }
}

/** A tensor's memory in the middle of a block whose other bytes are poison. */
class Guarded {
  readonly holder: Holder;
  readonly offset: number;
  readonly #start: number;
  readonly #bytes: number;
  readonly #margin: number;

  constructor(
    readonly meta: TensorMeta,
    poison: number,
  ) {
    this.#bytes = sizeOf(meta.shape) * dtypes[meta.dtype].bytes;
    // Enough for an element taken to be eight times as large.
    this.#margin = Math.ceil((this.#bytes * 8 + 64) / 64) * 64;
    this.holder = new Holder(cpu, 2 * this.#margin + this.#bytes);
    this.#start = this.holder.ptr + this.#margin;
    this.offset = this.#margin / dtypes[meta.dtype].bytes;
    heap.u8.fill(poison, this.holder.ptr, this.holder.ptr + this.holder.bytes);
  }

  upload(input: Input, salt: number): this {
    cpu.upload(storedNumbers(valuesOf(input, salt), input.dtype, 'test'), this.meta, this);
    return this;
  }

  contents(): Uint8Array {
    return heap.u8.slice(this.#start, this.#start + this.#bytes);
  }

  around(): Uint8Array {
    const end = this.holder.ptr + this.holder.bytes;
    const before = heap.u8.slice(this.holder.ptr, this.#start);
    return Uint8Array.from([...before, ...heap.u8.slice(this.#start + this.#bytes, end)]);
  }
}

const metaOf = ({ dtype, shape }: { dtype: DType; shape: readonly number[] }): TensorMeta =>
  contiguousMeta({ dtype, shape }, cpu);

/** Contents of the results, or null where the op rejects the operands with an error of its own. */
function run(op: OpRecord, { inputs, attrs = {} }: Example, poison: number): Uint8Array[] | null {
  const operands: Guarded[] = [];
  const results: Guarded[] = [];
  try {
    const metas = inputs.map(metaOf);
    const specs = op.infer(metas, attrs);
    const outputs = op.inPlace ? [metas[0]!] : specs.map(metaOf);
    for (const [i, input] of inputs.entries()) {
      operands.push(new Guarded(metas[i]!, poison).upload(input, i));
    }
    if (!op.inPlace) for (const meta of outputs) results.push(new Guarded(meta, poison));
    const targets = op.inPlace ? [operands[0]!] : results;
    const before = operands.map((operand) => operand.contents());
    cpu.prepare(op, metas, outputs, attrs)(operands, targets);
    for (const block of [...operands, ...results]) {
      expect(
        block.around().every((byte) => byte === poison),
        'bytes around a tensor',
      ).toBe(true);
    }
    operands.forEach((operand, i) => {
      if (op.inPlace && i === 0) return;
      expect(operand.contents(), `operand ${i}`).toEqual(before[i]);
    });
    for (const target of targets) {
      if (target.meta.dtype !== 'bool') continue;
      expect(
        target.contents().every((byte) => byte <= 1),
        'a bool is 0 or 1',
      ).toBe(true);
    }
    return targets.map((target) => target.contents());
  } catch (error) {
    if (error instanceof TostaticError) return null;
    throw error;
  } finally {
    for (const { holder } of [...operands, ...results]) holder.release();
  }
}

const kernelOps = [...opTable.values()].filter(
  ({ kernel, operands }) =>
    (kernel.kind === 'named' || kernel.kind === 'pointwise') && operands.length > 0,
);

describe('kernels keep to the memory of their operands, in every combination of dtypes', () => {
  for (const op of shareOfDay(kernelOps)) {
    const examples = examplesOf(op.name);
    it(op.name, () => {
      const before = allocated();
      let performed = 0;
      for (const example of examples.flatMap((own) => [...combinations(own)])) {
        const what = `${op.name} ${example.inputs.map(formatSpec).join(', ')}`;
        try {
          const first = run(op, example, 0x00);
          if (first === null) continue;
          performed++;
          expect(run(op, example, 0x47), 'poison around the operands').toEqual(first);
        } catch (error) {
          throw new Error(what, { cause: error });
        }
      }
      expect(performed, `${op.name}: examples that run`).toBeGreaterThan(0);
      expect(allocated()).toBe(before);
    });
  }
});
