/** Conformance 95: what a check of the user throws is the user's own error, with everything on it. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

class Diverged extends Error {
  override readonly name = 'Diverged';
  readonly step: number;
  readonly detail: { readonly loss: number };

  constructor(step: number, loss: number) {
    super(`diverged at step ${step}`);
    this.step = step;
    this.detail = { loss };
  }
}

it('keeps type, fields and message of an error thrown by a check (95)', () => {
  const fn = (x: Tensor, step: number) => {
    const loss = x.square().sum();
    if (loss.itemSync() > 100) throw new Diverged(step, loss.itemSync());
    return loss.mul(2);
  };
  const captured = toStatic(fn, { fullGraph: true });
  const thrown = (run: typeof fn): unknown => {
    try {
      tidy(() => void run(tensor([20, 30]), 7));
    } catch (error) {
      return error;
    }
    return null;
  };
  tidy(() => expect(captured(tensor([1, 2]), 7).itemSync()).toBe(10));
  const found = thrown(captured);
  expect(found).toBeInstanceOf(Diverged);
  expect(found).toEqual(thrown(fn));
  expect(found).toMatchObject({ step: 7, detail: { loss: 1300 }, message: 'diverged at step 7' });
  // It runs on afterwards, in the same program.
  tidy(() => expect(captured(tensor([1, 2]), 7).itemSync()).toBe(10));
  expect(captured.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
});
