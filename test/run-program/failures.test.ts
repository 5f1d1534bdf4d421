/** An exception in the middle of a run leaves bytes and scopes as they were. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { AutogradError, OutOfMemoryError, type Tensor, toStatic } from '../../src/index.ts';
import { failAt } from './fail-at.ts';
import { bytesNow, data } from './memory-counter.ts';

const n = 64;

/** Which allocation fails is counted: those of a check would come first. */
const unchecked = { check: 0 };

afterEach(() => {
  vi.restoreAllMocks();
});

const chain = (x: Tensor, w: Tensor) => {
  const y = x.mul(w).exp();
  return y.mul(w.tanh()).sum();
};

describe('a run that fails', () => {
  it('in forward, at any allocation, leaves nothing behind, and the next run works', () => {
    const [x, w] = [data([n]), data([n], { salt: 1 }).requiresGrad_()];
    const fn = toStatic(chain, unchecked);
    const expected = fn(x, w);
    const value = expected.itemSync();
    expected.dispose();
    const before = bytesNow();
    let failures = 0;
    for (let nth = 0; nth < 20; nth++) {
      failAt(nth);
      try {
        const loss = fn(x, w);
        expect(loss.itemSync()).toBe(value);
        loss.dispose();
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        failures++;
      }
      vi.restoreAllMocks();
      expect(bytesNow(), `after failure ${nth}`).toBe(before);
    }
    expect(failures).toBeGreaterThan(1);
    expect(fn.stats().fallbacks).toEqual([]);
    for (const tensor of [x, w]) tensor.dispose();
  });

  it('in backward leaves no byte of what it had begun', () => {
    const [x, w] = [data([n]), data([n], { salt: 1 }).requiresGrad_()];
    const fn = toStatic(chain, unchecked);
    const before = bytesNow();
    let failures = 0;
    for (let nth = 0; nth < 20; nth++) {
      const loss = fn(x, w);
      failAt(nth);
      try {
        loss.backward();
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
        failures++;
        vi.restoreAllMocks();
        expect(w.grad).toBeNull();
      }
      vi.restoreAllMocks();
      w.grad?.dispose();
      w.grad = null;
      loss.dispose();
      expect(bytesNow(), `after failure ${nth}`).toBe(before);
    }
    expect(failures).toBeGreaterThan(1);
    for (const tensor of [x, w]) tensor.dispose();
  });

  it('in a backward that retains the graph can be repeated', () => {
    const [x, w] = [data([n]), data([n], { salt: 1 }).requiresGrad_()];
    const fn = toStatic(chain, unchecked);
    const loss = fn(x, w);
    loss.backward(null, { retainGraph: true });
    const expected = [...w.grad!.dataSync()];
    w.grad!.dispose();
    w.grad = null;
    const between = bytesNow();
    for (let nth = 0; nth < 6; nth++) {
      failAt(nth);
      try {
        loss.backward(null, { retainGraph: true });
      } catch (error) {
        expect(error).toBeInstanceOf(OutOfMemoryError);
      }
      vi.restoreAllMocks();
      (w.grad as Tensor | null)?.dispose();
      w.grad = null;
      expect(bytesNow(), `after failure ${nth}`).toBe(between);
    }
    loss.backward();
    expect([...w.grad!.dataSync()]).toEqual(expected);
    for (const tensor of [x, w, loss]) tensor.dispose();
  });

  it('in backward without retainGraph is not repeated on what is left', () => {
    const [x, w] = [data([n]), data([n], { salt: 1 }).requiresGrad_()];
    const loss = toStatic(chain, unchecked)(x, w);
    // The seed is made first; the failure then is in the middle of the program.
    failAt(1);
    expect(() => loss.backward()).toThrow(OutOfMemoryError);
    vi.restoreAllMocks();
    expect(() => loss.backward()).toThrow(AutogradError);
    for (const tensor of [x, w, loss]) tensor.dispose();
  });
});
