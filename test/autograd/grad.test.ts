import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { grad } from '../../runtime/backward/grad.ts';
import { AutogradError, TostaticError } from '../../runtime/errors/errors.ts';
import { recordEvents } from '../../runtime/memory/events.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, spread, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
const values = (x: Tensor | null | undefined) => x && [...x.dataSync()];
const large = () => tensor(spread([1024]), { requiresGrad: true });

describe('grad', () => {
  it('answers for leaves, and leaves .grad alone', () => {
    tidy(() => {
      const [x, y] = [leaf(2), leaf(3)];
      const [dx, dy] = grad(x.mul(x).mul(y), [x, y]);
      expect([values(dx), values(dy)]).toEqual([[12], [4]]);
      expect([x.grad, y.grad]).toEqual([null, null]);
    });
  });

  it('answers for intermediate results, also beside what they were computed from', () => {
    tidy(() => {
      const x = leaf(2);
      const h = x.mul(3);
      const z = h.mul(h).add(h);
      const [dh, dx] = grad(z, [h, x]);
      expect([values(dh), values(dx)]).toEqual([[13], [39]]);
      // The same place twice.
      const again = x.exp();
      const [a, b] = grad(again.mul(2), [again, again]);
      a!.dispose();
      expect(values(b)).toEqual([2]);
      expect(values(grad(again, again)[0])).toEqual([1]);
    });
  });

  it('of several outputs adds up, each with its own gradient to start with', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const outputs = [x.mul(2), x.mul(x), x.sum()];
      const [dx] = grad(outputs, x, { gradOutputs: [tensor([1, 10]), tensor([1, 1]), null] });
      expect(values(dx)).toEqual([2 + 2 + 1, 20 + 4 + 1]);
    });
  });

  it('runs only what lies between outputs and inputs', () => {
    tidy(() => {
      const [x, w] = [leaf(2), leaf(3)];
      const h = x.exp().tanh();
      const z = h.mul(w).sigmoid();
      const { events } = recordEvents(() => grad(z, h));
      const kernels = events.flatMap((event) => (event.kind === 'kernel' ? [event.op] : []));
      // Neither tanh and exp behind h, nor the gradient of w.
      expect(kernels).toEqual(['full', 'sigmoidGrad', 'mul']);
      // What it did not run can still be run.
      expect(values(grad(h, x, { retainGraph: true })[0])).not.toBe(null);
    });
  });

  it('gives back everything but its results', () => {
    const before = allocated();
    tidy(() => {
      const x = large();
      const start = allocated();
      const loss = tidy(() => x.exp().tanh().sum());
      const [dx] = grad(loss, x);
      loss.dispose();
      expect(allocated() - start).toBe(4096);
      dx!.dispose();
      expect(allocated()).toBe(start);
    });
    expect(allocated()).toBe(before);
  });

  it('its results belong to the tidy around it', () => {
    const before = allocated();
    tidy(() => {
      const x = large();
      const y = x.add(x).add(x);
      expect(values(grad(y.sum(), x)[0])![0]).toBe(3);
    });
    expect(allocated()).toBe(before);
  });
});

describe('createGraph', () => {
  it('makes gradients that can be differentiated, any number of times', () => {
    tidy(() => {
      const x = leaf(2);
      const first = grad(x.pow(4), x, { createGraph: true })[0]!;
      const second = grad(first, x, { createGraph: true })[0]!;
      const third = grad(second, x, { createGraph: true })[0]!;
      const fourth = grad(third, x)[0]!;
      expect([first, second, third, fourth].map((own) => values(own)![0])).toEqual([
        32, 48, 48, 24,
      ]);
      expect(fourth.requiresGrad).toBe(false);
    });
  });

  it('a gradient penalty reaches the leaves', () => {
    tidy(() => {
      const [x, w] = [leaf(1, 2), leaf(3, 4)];
      const [dx] = grad(x.mul(w).pow(2).sum(), x, { createGraph: true });
      dx!.pow(2).sum().backward();
      // dx = 2xw², Σ(dx)² = 4x²w⁴, its gradients 8xw⁴ and 16x²w³.
      expect(values(x.grad)).toEqual([648, 4096]);
      expect(values(w.grad)).toEqual([432, 4096]);
    });
  });

  it('backward makes .grad with a history, and adds to it out of place', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(3);
      x.pow(3).backward(null, { createGraph: true });
      const first = x.grad!;
      expect(first.requiresGrad).toBe(true);
      x.pow(2).backward(null, { createGraph: true });
      expect(values(x.grad)).toEqual([27 + 6]);
      const [second] = grad(x.grad!, x);
      expect(values(second)).toEqual([18 + 2]);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('a gradient to start with takes part', () => {
    tidy(() => {
      const [x, v] = [leaf(2), leaf(5)];
      const [dx] = grad(x.mul(x), x, { gradOutputs: v, createGraph: true });
      expect(values(grad(dx!, v)[0])).toEqual([4]);
      // Passed through unchanged.
      const [same] = grad(x.add(1), x, { gradOutputs: v, createGraph: true });
      expect(values(grad(same!, v)[0])).toEqual([1]);
    });
  });

  it('keeps no bytes once its handles are gone', () => {
    tidy(() => {
      const x = large();
      const start = allocated();
      tidy(() => {
        const loss = x.exp().sigmoid().mul(x).sum();
        const [dx] = grad(loss, x, { createGraph: true });
        const [ddx] = grad(dx!.pow(2).sum(), x, { createGraph: true });
        expect(allocated() - start).toBeGreaterThan(10 * 4096);
        ddx!.dispose();
      });
      expect(allocated()).toBe(start);
      // Disposed one by one, without any second backward.
      const loss = tidy(() => x.exp().sum());
      const dx = tidy(() => grad(loss, x, { createGraph: true })[0]!);
      loss.dispose();
      // dx, and for its own gradient the exponential and the 1 that backward started with.
      expect(allocated() - start).toBe(2 * 4096 + 64);
      dx.dispose();
      expect(allocated()).toBe(start);
    });
  });
});

describe('mistakes around grad', () => {
  const caught = (make: () => unknown): TostaticError => {
    try {
      make();
    } catch (error) {
      if (error instanceof TostaticError) return error;
      throw error;
    }
    return expect.fail('no error');
  };

  it('an input that nothing leads to is refused, or null', () => {
    tidy(() => {
      const [x, other] = [leaf(1), leaf(2)];
      const before = allocated();
      const error = caught(() => grad(x.mul(2), [x, other], { retainGraph: true }));
      expect(error).toBeInstanceOf(AutogradError);
      expect(error.given).toBe('input 1, a f32[1] tensor that no path leads to');
      expect(error.remedy).toContain('allowUnused: true');
      expect(allocated() - before, 'the product').toBe(64);
      const [dx, none] = grad(x.mul(2), [x, other], { allowUnused: true });
      expect([values(dx), none]).toEqual([[2], null]);
    });
  });

  it('neither outputs nor inputs without history, or data', () => {
    tidy(() => {
      const x = leaf(1);
      expect(() => grad(x.mul(2), tensor([1]))).toThrow('grad: the tensor has no gradient history');
      expect(() =>
        grad(
          noGrad(() => x.mul(2)),
          x,
        ),
      ).toThrow('no gradient history');
      const y = x.mul(2);
      y.dispose();
      expect(() => grad(y, x)).toThrow('grad: the tensor has been disposed');
    });
  });

  it('not one gradient per output, or of another shape', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const y = x.mul(2);
      const before = allocated();
      expect(() => grad([y, y], x, { gradOutputs: y })).toThrow('1 gradients for 2 outputs');
      expect(() => grad([y.sum(), y], x)).toThrow('grad: no initial gradient');
      expect(() => grad(y, x, { gradOutputs: leaf(1) })).toThrow('gradient f32[1] for f32[2]');
      expect(allocated() - before, 'the sum and the leaf').toBe(128);
    });
  });

  it('a second grad without retainGraph says what to do', () => {
    tidy(() => {
      const x = leaf(3);
      const y = x.mul(x);
      grad(y, x);
      expect(() => grad(y, x)).toThrow('backward through mul a second time');
    });
  });
});
