/** Conformance 101–109: which bytes are there after forward, between, and after backward. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AutogradError, noGrad, type Tensor, toStatic } from '../../src/index.ts';
import { bytesNow, bytesOf, data, devices, measure, on } from './memory-counter.ts';

const n = 64;

describe.each(devices)('run_program on %s', (device) => {
  const make = (shape: number[], salt = 0) => on(device, () => data(shape, { salt }));
  const bytes = () => bytesNow(device);
  let before = 0;
  beforeEach(() => {
    before = bytes();
  });
  afterEach(() => {
    expect(bytes()).toBe(before);
  });

  /** Runs with inputs that are given back afterwards. */
  function using_<T>(inputs: Tensor[], body: () => T): T {
    try {
      return body();
    } finally {
      for (const input of inputs) {
        input.grad?.dispose();
        input.dispose();
      }
    }
  }

  it('keeps what the user holds and what backward reads, and nothing else (101)', () => {
    const [x, w] = [make([n]), make([n], 1).requiresGrad_()];
    using_([x, w], () => {
      // Backward of exp reads its result, of mul by w the other operand; the sums in between nothing.
      const fn = toStatic((x: Tensor, w: Tensor) => x.add(1).add(2).mul(w).exp().add(3));
      const { result, kept } = measure(() => fn(x, w), device);
      const { predicted } = fn.programs()[0]!.stages!.planned.forward;
      expect(kept).toBe(bytesOf(n) + 2 * bytesOf(n));
      expect(predicted).toMatchObject({ outputBytes: bytesOf(n), savedBytes: 2 * bytesOf(n) });
      result.dispose();
    });
  });

  it('makes no copy of a strided input for kernels that read strides (102)', () => {
    const base = make([8, 16]);
    const x = base.transpose(0, 1);
    using_([base, x], () => {
      const fn = toStatic((x: Tensor) => x.add(1).exp());
      const { result, kept, peak } = measure(() => fn(x), device);
      expect([kept, peak]).toEqual([bytesOf(16, 8), bytesOf(16, 8)]);
      result.dispose();
    });
  });

  it('frees the contiguous copy of a strided input at its last use (102)', () => {
    const base = make([8, 16]);
    const x = base.transpose(0, 1);
    using_([base, x], () => {
      const fn = toStatic((x: Tensor) => x.contiguous().exp().sum(1).exp());
      const { result, kept, peak } = measure(() => fn(x), device);
      const { predicted } = fn.programs()[0]!.stages!.planned.forward;
      expect(kept).toBe(bytesOf(16));
      expect(peak).toBe(predicted.peakBytes);
      expect(peak).toBeLessThan(2 * bytesOf(16, 8));
      result.dispose();
    });
  });

  it('holds nothing for x.add(y), and gradients have the right shapes (103)', () => {
    const [x, y] = [make([4, n]).requiresGrad_(), make([n], 1).requiresGrad_()];
    using_([x, y], () => {
      const fn = toStatic((x: Tensor, y: Tensor) => x.add(y));
      const { result, kept } = measure(() => fn(x, y), device);
      expect(kept).toBe(bytesOf(4, n));
      const { withData } = fn.programs()[0]!.stages!.planned.backward!.saved;
      expect(withData).toEqual([]);
      // The inputs' own memory is not held either.
      expect([x.holder!.owners, y.holder!.owners, result.holder!.owners]).toEqual([1, 1, 1]);
      const seed = make([4, n], 2);
      result.backward(seed);
      expect([x.grad!.shape, y.grad!.shape]).toEqual([[4, n], [n]]);
      seed.dispose();
      result.dispose();
    });
  });

  it('lets an output that backward does not read leave the scope, readable after its reuse (104)', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => x.mul(2));
      const first = fn(x);
      expect(first.holder!.owners).toBe(1);
      const values = device === 'cpu' ? [...first.dataSync()] : [];
      const loss = first.sum();
      loss.backward();
      loss.dispose();
      const second = fn(x);
      if (device === 'cpu') expect([...first.dataSync()]).toEqual(values);
      first.dispose();
      second.dispose();
    });
  });

  it('keeps an output that backward reads when the user drops it (105)', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => {
        const y = x.exp();
        return [y, y.sum()] as const;
      });
      const [y, sum] = fn(x);
      expect(y.holder!.owners).toBe(2);
      y.dispose();
      expect(bytes()).toBe(before + 2 * bytesOf(n) + bytesOf(16));
      sum.backward();
      expect(bytes()).toBe(before + 2 * bytesOf(n) + bytesOf(16));
      if (device === 'cpu') {
        const expected = noGrad(() => x.exp());
        expect([...x.grad!.dataSync()]).toEqual([...expected.dataSync()]);
        expected.dispose();
      }
      sum.dispose();
    });
  });

  it('keeps a value whose data one op of backward reads and whose shape another one (106)', () => {
    const [x, w] = [make([4, n]).requiresGrad_(), make([4, n], 1)];
    using_([x, w], () => {
      // Backward of sum reads only the shape of y, backward of exp its data.
      const shapeOnly = toStatic((x: Tensor, w: Tensor) => x.mul(w).sum());
      const both = toStatic((x: Tensor, w: Tensor) => x.mul(w).exp().sum());
      const small = measure(() => shapeOnly(x, w), device);
      const large = measure(() => both(x, w), device);
      expect(small.kept).toBe(bytesOf(16));
      expect(large.kept).toBe(bytesOf(4, n) + bytesOf(16));
      const saved = (fn: typeof both) => fn.programs()[0]!.stages!.planned.backward!.saved;
      expect(saved(shapeOnly).noNeedBuffer).toHaveLength(1);
      expect(saved(both).noNeedBuffer).toHaveLength(0);
      small.result.dispose();
      large.result.dispose();
    });
  });

  it('runs two forwards and two backwards in two scopes, which are then reused (107)', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => x.exp().sum());
      const [a, b] = [fn(x), fn(x)];
      expect(bytes()).toBe(before + bytesOf(n) + 2 * (bytesOf(n) + bytesOf(16)));
      a.backward();
      const afterOne = bytes();
      b.backward();
      expect(bytes()).toBe(afterOne - bytesOf(n));
      const c = fn(x);
      expect(bytes()).toBe(afterOne + bytesOf(16));
      c.backward();
      for (const loss of [a, b, c]) loss.dispose();
    });
  });

  it('frees all under noGrad (108)', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => x.exp().mul(2).tanh().sum());
      const { result, kept } = measure(() => noGrad(() => fn(x)), device);
      expect(kept).toBe(bytesOf(16));
      expect(result.requiresGrad).toBe(false);
      result.dispose();
    });
  });

  it('has the same bytes after each of 100 steps (109)', () => {
    const [x, w] = [make([4, n]), make([n, 16], 1).requiresGrad_()];
    using_([x, w], () => {
      const fn = toStatic((x: Tensor, w: Tensor) => x.matmul(w).relu().sum());
      const step = () => {
        const loss = fn(x, w);
        loss.backward();
        loss.dispose();
        w.grad!.dispose();
        w.grad = null;
        return bytes();
      };
      const first = step();
      for (let i = 0; i < 99; i++) expect(step()).toBe(first);
      expect(fn.stats().translations).toBe(1);
    });
  });

  it('gives everything back when the result is dropped without backward', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => x.exp().mul(x).sum());
      const loss = fn(x);
      expect(bytes()).toBeGreaterThan(before + bytesOf(n) + bytesOf(16));
      loss.dispose();
      expect(bytes()).toBe(before + bytesOf(n));
    });
  });

  it('predicts the peak of forward and backward to the byte', () => {
    const parameters = [make([n, 32], 1), make([32], 2), make([32, 16], 3)];
    for (const p of parameters) p.requiresGrad_();
    const x = make([16, n]);
    using_([x, ...parameters], () => {
      const fn = toStatic((x: Tensor, w1: Tensor, b: Tensor, w2: Tensor) => {
        const hidden = x.matmul(w1).add(b).relu();
        return hidden
          .matmul(w2.mul(2))
          .softmax()
          .mul(hidden.sum(1, { keepDim: true }))
          .sum();
      });
      const [w1, b, w2] = parameters as [Tensor, Tensor, Tensor];
      for (const run of ['first', 'second']) {
        const forward = measure(() => fn(x, w1, b, w2), device);
        const { planned } = fn.programs()[0]!.stages!;
        expect(forward.peak, `forward, ${run}`).toBe(planned.forward.predicted.peakBytes);
        const { savedBytes, outputBytes } = planned.forward.predicted;
        expect(forward.kept).toBe(savedBytes + outputBytes);
        const seed = make([], 9);
        const backward = measure(() => forward.result.backward(seed), device);
        // The engine holds the seed as one more owner, so the scope frees no memory of it.
        expect(backward.peak, `backward, ${run}`).toBe(planned.backward!.plan.predicted.peakBytes);
        seed.dispose();
        forward.result.dispose();
        for (const p of parameters) {
          p.grad!.dispose();
          p.grad = null;
        }
      }
    });
  });

  it('retains the graph when asked, and refuses a second backward when not', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => x.exp().sum());
      const loss = fn(x);
      loss.backward(null, { retainGraph: true });
      const once = device === 'cpu' ? [...x.grad!.dataSync()] : [];
      const retained = bytes();
      loss.backward(null, { retainGraph: true });
      expect(bytes()).toBe(retained);
      if (device === 'cpu') expect([...x.grad!.dataSync()]).toEqual(once.map((g) => g * 2));
      loss.backward();
      expect(bytes()).toBe(retained - bytesOf(n));
      expect(() => loss.backward()).toThrow(AutogradError);
      loss.dispose();
    });
  });

  it('refuses a saved value that was changed in place', () => {
    const [x, w] = [make([n]), make([n], 1).requiresGrad_()];
    using_([x, w], () => {
      const fn = toStatic((x: Tensor, w: Tensor) => x.mul(w).sum());
      const loss = fn(x, w);
      noGrad(() => w.add_(1));
      loss.backward(null, { retainGraph: true });
      noGrad(() => x.add_(1));
      expect(() => loss.backward()).toThrow(AutogradError);
      loss.dispose();
    });
  });

  it('differentiates one of two outputs alone, the other is taken as zero', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => [x.exp().sum(), x.mul(3).sum()] as const);
      const [a, b] = fn(x);
      b.backward();
      if (device === 'cpu') expect(new Set(x.grad!.dataSync())).toEqual(new Set([3]));
      a.dispose();
      b.dispose();
    });
  });

  it('gives back the outputs that nobody wants', () => {
    const x = make([n]).requiresGrad_();
    using_([x], () => {
      const fn = toStatic((x: Tensor) => {
        x.exp();
        const unused = x.mul(2).tanh();
        return [unused.shape[0], x.add(1)] as const;
      });
      const { result, kept } = measure(() => fn(x), device);
      expect(kept).toBe(bytesOf(n));
      expect(fn.stats().ops).toBe(1);
      result[1].dispose();
    });
  });
});

describe('run_program', () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ['an output that is a view', (x) => x.exp().reshape([4, 16])],
    ['an output that is an input', (x) => x.add(1).sum().mul(0).add(x)],
    ['a branch', (x) => (x.sum().itemSync() > 1e9 ? x.exp() : x.mul(2).tanh())],
    [
      'a loop',
      (x) => {
        let y = x.exp();
        while (y.sum().itemSync() < 1e4) y = y.mul(2).add(1);
        return y;
      },
    ],
    [
      'a backward inside',
      (x) => {
        const w = x.detach().requiresGrad_();
        w.exp().mul(w).sum().backward();
        return w.grad!;
      },
    ],
  ])('leaves no value of a run in its scope: %s', (_, body) => {
    const x = data([n]);
    const fn = toStatic(body, { fullGraph: true });
    for (let i = 0; i < 3; i++) {
      const now = bytesNow();
      fn(x).dispose();
      expect(bytesNow()).toBe(now);
    }
    x.dispose();
  });
});
