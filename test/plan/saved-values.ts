/** What tests of saved values share: bytes that come back, and a function's value, gradients and bytes. */

import { afterEach, beforeEach, expect } from 'vitest';
import { seed, type Tensor, tidy } from '../../src/index.ts';
import { bytesNow, measure } from '../run-program/memory-counter.ts';

export type Loss = (x: Tensor) => Tensor;

/** A loss of one input, and the input's shape. */
export interface LossCase {
  readonly run: Loss;
  readonly shape: readonly number[];
}

/** Each test of the file leaves as many bytes as there were. */
export function expectBytesAsBefore(): void {
  let before = 0;
  beforeEach(() => {
    before = bytesNow();
  });
  afterEach(() => {
    expect(bytesNow()).toBe(before);
  });
}

/** What the tensors hold that the body returns; all that it has made is freed. */
export function numbersOf(body: () => readonly Tensor[]): number[][] {
  let numbers: number[][] = [];
  tidy(() => {
    numbers = body().map((each) => [...each.dataSync()]);
  });
  return numbers;
}

/**
 * The value and the gradients of the second call, the first under the plan that stays, with the bytes that are kept for
 * backward and the peak of forward.
 */
export function outcome<Inputs extends readonly Tensor[]>(
  fn: ((...inputs: Inputs) => Tensor) & { ready?(): unknown },
  ...inputs: Inputs
) {
  seed(3);
  fn(...inputs).dispose();
  fn.ready?.();
  seed(4);
  const { result, kept, peak } = measure(() => fn(...inputs));
  result.backward();
  const found = {
    loss: [...result.dataSync()],
    gradients: inputs.map((x) => [...x.grad!.dataSync()]),
  };
  result.dispose();
  for (const x of inputs) {
    x.grad!.dispose();
    x.grad = null;
  }
  return { kept, peak, found };
}
