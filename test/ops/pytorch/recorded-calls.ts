/** Calls of ops with what PyTorch answered, for tables that translate the calls. */

import { describe, expect, it } from 'vitest';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { allocated, type Tolerance } from '../eager.ts';
import {
  expectRecorded,
  isRecordedTensor,
  type RecordedTensor,
  readRecords,
  toTensor,
} from './recorded.ts';

export interface RecordedCall {
  readonly op: string;
  readonly input: RecordedTensor;
  readonly args?: readonly unknown[];
  readonly kwargs?: Keywords;
  readonly output: RecordedTensor | readonly RecordedTensor[];
  readonly gradOutputs?: readonly RecordedTensor[];
  /** Of the tensors with `grad`, in order of appearance. */
  readonly grads?: readonly (RecordedTensor | null)[];
}

export type Keywords = Readonly<Record<string, unknown>>;

/** PyTorch's call in our names. */
export type Call = (
  x: Tensor,
  args: readonly unknown[],
  keywords: Keywords,
) => Tensor | readonly Tensor[];

/** A method with the same arguments. */
export const method =
  (name: string): Call =>
  (x, args) =>
    (x as unknown as Record<string, (...rest: readonly unknown[]) => Tensor>)[name]!(...args);

function check(line: RecordedCall, call: Call, what: string, tolerance: Tolerance): void {
  const x = toTensor(line.input);
  const args = (line.args ?? []).map((arg) => (isRecordedTensor(arg) ? toTensor(arg) : arg));
  const outputs = [call(x, args, line.kwargs ?? {})].flat() as Tensor[];
  const expected = [line.output].flat() as RecordedTensor[];
  expect(outputs.length, what).toBe(expected.length);
  outputs.forEach((output, i) => {
    expectRecorded(output, expected[i]!, `${what}: output ${i}`, tolerance);
  });
  if (!line.grads || !outputs[0]!.requiresGrad) return;
  outputs[0]!.backward(toTensor(line.gradOutputs![0]!));
  const leaves = [x, ...args].filter(
    (value): value is Tensor => value instanceof Tensor && value.requiresGrad,
  );
  expect(leaves.length).toBe(line.grads.length);
  line.grads.forEach((gradient, i) => {
    const { grad } = leaves[i]!;
    if (gradient && grad) expectRecorded(grad, gradient, `${what}: gradient ${i}`, tolerance);
    else expect(gradient?.tensor.some((value) => value !== 0) ?? false, what).toBe(grad !== null);
    grad?.dispose();
  });
}

/** One test per op: values, and gradients where PyTorch has them. */
export function describeRecorded(
  title: string,
  file: URL,
  calls: Readonly<Record<string, Call>>,
  tolerance: Tolerance = { relative: 5e-5, absolute: 5e-5 },
): void {
  const lines = readRecords<RecordedCall>(file);
  describe(title, () => {
    for (const op of new Set(lines.map((line) => line.op))) {
      const samples = lines.filter((line) => line.op === op);
      it(`${op} (${samples.length} samples)`, () => {
        const before = allocated();
        samples.forEach((line, i) => {
          tidy(() => check(line, calls[op]!, `${op} #${i}`, tolerance));
        });
        expect(allocated()).toBe(before);
      });
    }
  });
}
