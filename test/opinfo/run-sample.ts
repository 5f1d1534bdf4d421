/** Runs a sample through its adapter and compares values and gradients with PyTorch's. */

import { expect } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import { type DType, dtypes } from '../../runtime/spec/dtype.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { expectClose, type Tolerance } from '../ops/eager.ts';
import { adapters } from './adapters.ts';
import { callAdapter } from './arguments.ts';
import { dtypeNamed } from './dtypes.ts';
import { isRecordedTensor, type RecordedTensor, type Sample, toTensor } from './samples.ts';

/** Operators whose results may lie in the memory of an operand, as in PyTorch; all others own theirs. */
const views: ReadonlySet<string> = new Set([
  ...['broadcast_to', 'chunk', 'diagonal', 'expand', 'flatten', 'movedim', 'narrow', 'permute'],
  ...['ravel', 'reshape', 'select', 'slice', 'split', 'squeeze', 'tensor_split', 'transpose'],
  ...['unbind', 'unflatten', 'unfold', 'unsqueeze'],
]);

/** Where agreement with PyTorch begins. */
export const tolerances: Readonly<Partial<Record<DType, Tolerance>>> = {
  float32: { relative: 1e-4, absolute: 1e-5 },
  float64: { relative: 1e-7, absolute: 1e-7 },
};

/** The value with its recorded tensors made, noting those that have gradients in `leaves`. */
function built(value: unknown, dtype: DType, leaves: Tensor[]): unknown {
  if (isRecordedTensor(value)) {
    const made = toTensor(value, dtype);
    if (value.grad) leaves.push(made);
    return made;
  }
  if (Array.isArray(value)) return value.map((item) => built(item, dtype, leaves));
  if (value === 'Infinity' || value === '-Infinity' || value === 'NaN') return Number(value);
  return value;
}

function compare(actual: Tensor, expected: RecordedTensor, dtype: DType, what: string): void {
  expect(actual.shape, `${what}: shape`).toEqual(expected.shape);
  const own = dtypeNamed(expected.dtype);
  const floating = dtypes[own].floating;
  if (floating) expect(dtypes[actual.dtype].floating, `${what}: dtype ${actual.dtype}`).toBe(true);
  else expect(actual.dtype, `${what}: dtype`).toBe(own);
  const exact = { relative: 0, absolute: 0 };
  const tolerance = floating ? tolerances[dtype] : exact;
  expectClose(actual.dataSync(), expected.tensor.map(Number), what, tolerance);
}

/** Throws where the sample's operator does not agree. Call inside `tidy`. */
export function runSample(sample: Sample, dtype: DType): void {
  const adapter = adapters[sample.op];
  if (!adapter) throw new Error(`no adapter for ${sample.op}`);
  const leaves: Tensor[] = [];
  const [input, ...args] = [sample.input, ...sample.args].map((own) => built(own, dtype, leaves));
  const keywords = Object.fromEntries(
    Object.entries(sample.kwargs).map(([name, own]) => [name, built(own, dtype, leaves)]),
  );
  const result = callAdapter(adapter, [input, ...args], keywords);
  const outputs = result instanceof Tensor ? [result] : result;
  if (!views.has(sample.op)) expectOwnMemory([input, args, Object.values(keywords)], outputs);
  const expected = [sample.output].flat().filter(isRecordedTensor);
  expect(outputs.length, 'number of outputs').toBe(expected.length);
  outputs.forEach((output, i) => {
    compare(output, expected[i]!, dtype, `output ${i}`);
  });
  if (sample.grads) compareGradients(sample, outputs, leaves, dtype);
}

function expectOwnMemory(operands: readonly unknown[], outputs: readonly Tensor[]): void {
  const given = operands.flat(3).map((each) => (each instanceof Tensor ? each.holder : null));
  const shared = outputs.filter((each) => each.numel() > 0 && given.includes(each.holder));
  expect(shared.length, 'results in the memory of operands').toBe(0);
}

function compareGradients(
  { grads, gradOutputs }: Sample,
  outputs: readonly Tensor[],
  leaves: readonly Tensor[],
  dtype: DType,
): void {
  const given = gradOutputs!.filter((own) => own !== null);
  const floating = outputs.filter((output) => dtypes[output.dtype].floating);
  expect(floating.length, 'outputs with a gradient').toBe(given.length);
  const roots = floating.map((tensor, i) => ({ tensor, seed: given[i]! }));
  const recorded = roots.filter(({ tensor }) => tensor.requiresGrad);
  const arrived =
    recorded.length === 0
      ? leaves.map(() => null)
      : grad(
          recorded.map(({ tensor }) => tensor),
          leaves,
          {
            gradOutputs: recorded.map(({ tensor, seed }) => toTensor(seed, tensor.dtype)),
            allowUnused: true,
          },
        );
  expect(leaves.length, 'leaves').toBe(grads!.length);
  grads!.forEach((expected, i) => {
    const gradient = arrived[i] ?? null;
    if (gradient && expected) compare(gradient, expected, dtype, `gradient ${i}`);
    else if (expected) {
      expect(
        expected.tensor.every((value) => value === 0),
        `gradient ${i} is missing`,
      ).toBe(true);
    } else if (gradient) {
      expect(
        gradient.dataSync().every((value) => value === 0),
        `gradient ${i} is not 0`,
      ).toBe(true);
    }
  });
}
