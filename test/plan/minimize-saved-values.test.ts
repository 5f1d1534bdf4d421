/** What backward reads, chosen so that less is kept: same values and gradients to the last bit, fewer bytes. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  maxPool2d,
  refcounted,
  relu,
  type Tensor,
  tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { bytesNow, bytesOf, data, measure } from '../run-program/memory-counter.ts';

let before = 0;
beforeEach(() => {
  before = bytesNow();
});
afterEach(() => {
  expect(bytesNow()).toBe(before);
});

interface Outcome {
  readonly kept: number;
  readonly loss: number[];
  readonly gradients: number[][];
}

type Loss = (...inputs: Tensor[]) => Tensor;

function outcome(fn: Loss, inputs: Tensor[]): Outcome {
  // The first call compiles.
  fn(...inputs).dispose();
  const { result, kept } = measure(() => fn(...inputs));
  result.backward();
  const gradients = inputs.map((input) => [...(input.grad?.dataSync() ?? [])]);
  for (const input of inputs) {
    input.grad?.dispose();
    input.grad = null;
  }
  const loss = [...result.dataSync()];
  result.dispose();
  return { kept, loss, gradients };
}

/** Bytes that the choice saves between forward and backward; values and gradients are eager execution's. */
function savedBy(fn: Loss, make: () => Tensor[]): number {
  const run = (way: Loss): Outcome => {
    const inputs = make();
    const result = outcome(way, inputs);
    for (const each of inputs) each.dispose();
    return result;
  };
  const eager = run(refcounted(fn));
  const plain = { savedPlaces: false };
  const [named, chosen] = [
    toStatic(fn, { memory: { ...plain, minimizeSaved: false } }),
    toStatic(fn, { memory: plain }),
  ].map(run);
  for (const { loss, gradients } of [named!, chosen!]) {
    expect({ loss, gradients }).toEqual({ loss: eager.loss, gradients: eager.gradients });
  }
  return named!.kept - chosen!.kept;
}

describe('plan/minimize-saved-values', () => {
  it.each([
    { kernel: 2, stride: 2, out: 4 },
    { kernel: 3, stride: 2, out: 3 },
  ])('relu before max-pooling keeps the pooled values alone ($kernel/$stride)', (pool) => {
    const { kernel, stride, out } = pool;
    const values = Float32Array.from({ length: 16 * 64 }, (_, i) => ((i * 37) % 23) - 11);
    values[5] = Number.NaN;
    const saved = savedBy(
      (x: Tensor, w: Tensor) => maxPool2d(relu(x.mul(w)), kernel, { stride }).sum(),
      () => [
        tensor(values, { shape: [4, 4, 8, 8] }),
        data([4, 4, 8, 8], { salt: 3 }).requiresGrad_(),
      ],
    );
    const pooled = Math.ceil((16 * out * out * 4) / 64) * 64;
    expect(saved).toBe(bytesOf(4, 4, 8, 8) - pooled);
  });

  it('copies of one memory in two shapes are one', () => {
    const saved = savedBy(
      (x: Tensor, w: Tensor) => {
        const a = x.transpose(0, 1).contiguous().mul(w);
        const b = x.transpose(0, 1).unsqueeze(1).contiguous().flatten().mul(w.flatten());
        return a.sum().add(b.sum());
      },
      () => [data([16, 8]), data([8, 16], { salt: 1 }).requiresGrad_()],
    );
    expect(saved).toBe(bytesOf(16, 8));
  });

  it('a copy of memory that backward has anyway is made again', () => {
    const saved = savedBy(
      (x: Tensor, w: Tensor) => {
        const y = x.mul(w).tanh();
        return y.transpose(0, 1).contiguous().mul(w.transpose(0, 1)).sum();
      },
      () => [data([16, 8]), data([16, 8], { salt: 1 }).requiresGrad_()],
    );
    expect(saved).toBe(bytesOf(16, 8));
  });

  it('constants are made again', () => {
    const saved = savedBy(
      (x: Tensor) => x.mul(zeros([16, 8]).add(2)).sum(),
      () => [data([16, 8]).requiresGrad_()],
    );
    expect(saved).toBe(bytesOf(16, 8));
  });
});
