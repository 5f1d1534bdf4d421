import { describe, expect, it } from 'vitest';
import { enableGrad, gradEnabled, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { AutogradError, TostaticError } from '../../runtime/errors/errors.ts';
import { events, type MemoryEvent } from '../../runtime/memory/events.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
const values = (x: Tensor | null) => x && [...x.dataSync()];

function caught(make: () => unknown): TostaticError {
  try {
    make();
  } catch (error) {
    if (error instanceof TostaticError) return error;
    throw error;
  }
  return expect.fail('no error');
}

describe('backward', () => {
  it('adds up over uses and over calls', () => {
    tidy(() => {
      const x = leaf(1, 2);
      x.mul(x).add(x).sum().backward();
      expect(values(x.grad)).toEqual([3, 5]);
      x.mul(10).sum().backward();
      expect(values(x.grad)).toEqual([13, 15]);
    });
  });

  it('sums the contributions to a value youngest use first', () => {
    // float32 can tell the order: (1e8 - 1e8) + 1 is 1, but 1e8 + (1 - 1e8) is 0.
    tidy(() => {
      const x = leaf(1);
      const first = x.mul(1);
      const second = x.mul(-1e8);
      const third = x.mul(1e8);
      first.add(second).add(third).sum().backward();
      expect(values(x.grad)).toEqual([1]);
      const y = leaf(1);
      const large = y.mul(1e8);
      const small = y.mul(1);
      const negative = y.mul(-1e8);
      large.add(small).add(negative).sum().backward();
      expect(values(y.grad)).toEqual([0]);
    });
  });

  it('runs each node once, when all of its gradients have arrived', () => {
    tidy(() => {
      const x = leaf(1);
      // 2^40 paths.
      let y = x.mul(1);
      for (let i = 0; i < 40; i++) y = y.add(y);
      y.backward();
      expect(values(x.grad)).toEqual([2 ** 40]);
    });
  });

  it('walks and frees chains of thousands of nodes', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(1);
      const chain = (): Tensor => {
        let y = x.add(0);
        for (let i = 0; i < 20_000; i++) {
          const next = y.add(1);
          y.dispose();
          y = next;
        }
        return y;
      };
      chain().backward();
      expect(values(x.grad)).toEqual([1]);
      x.grad?.dispose();
      chain().dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('takes a gradient to start with, and leaves it to the caller', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const start = tensor([10, 100]);
      x.mul(2).backward(start);
      expect(values(x.grad)).toEqual([20, 200]);
      expect(values(start)).toEqual([10, 100]);
      // A leaf gets a copy, not the caller's tensor.
      const y = leaf(1, 2);
      y.backward(start);
      start.fill_(0);
      expect(values(y.grad)).toEqual([10, 100]);
    });
  });

  it('gives two leaves of one sum memory of their own', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const y = leaf(3, 4);
      x.add(y).sum().backward();
      x.grad!.fill_(7);
      expect(values(y.grad)).toEqual([1, 1]);
    });
  });

  it('does not reach constants, detached values, and what was computed in noGrad', () => {
    tidy(() => {
      const x = leaf(2);
      const constant = tensor([3]);
      const detached = x.mul(2).detach();
      const silent = noGrad(() => x.mul(2));
      expect([detached.requiresGrad, silent.requiresGrad, constant.requiresGrad]).toEqual([
        false,
        false,
        false,
      ]);
      x.mul(constant).add(detached).add(silent).backward();
      expect(values(x.grad)).toEqual([3]);
      expect(constant.grad).toBe(null);
    });
  });

  it('modes nest and end with an exception', () => {
    noGrad(() => {
      expect(gradEnabled()).toBe(false);
      enableGrad(() => expect(gradEnabled()).toBe(true));
      expect(gradEnabled()).toBe(false);
    });
    expect(() =>
      noGrad(() => {
        throw new Error('inside');
      }),
    ).toThrow('inside');
    expect(gradEnabled()).toBe(true);
  });

  it('with retainGraph can run again and adds up', () => {
    tidy(() => {
      const x = leaf(3);
      const y = x.mul(x);
      y.backward(null, { retainGraph: true });
      y.backward();
      expect(values(x.grad)).toEqual([12]);
    });
  });

  it('frees nothing with retainGraph, and everything with the last run', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(3);
      const y = tidy(() => x.mul(x).exp());
      const withGraph = allocated();
      y.backward(null, { retainGraph: true });
      expect(allocated() - withGraph).toBe(64); // x.grad
      y.backward();
      // x's own data is still there; the saved exp output is y's.
      expect(allocated() - withGraph).toBe(64);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('gives gradients on the way back as soon as they are used', () => {
    tidy(() => {
      const x = leaf(...new Array(1024).fill(1));
      let y = x.mul(1);
      for (let i = 0; i < 10; i++) y = y.neg();
      const loss = y.sum();
      const peaks: number[] = [];
      const start = allocated();
      const stop = events.subscribe((event: MemoryEvent) => {
        if (event.kind === 'alloc') peaks.push(event.allocated - start);
      });
      loss.backward();
      stop();
      // The gradient that comes in and the one that goes out.
      expect(Math.max(...peaks)).toBe(2 * 4096);
    });
  });
});

describe('mistakes around backward', () => {
  it('a second backward names the place of the second call', () => {
    tidy(() => {
      const x = leaf(3);
      const y = x.mul(x);
      y.backward();
      const before = allocated();
      const error = caught(() => y.backward());
      const here = Number(/backward\.test\.ts:(\d+)/.exec(new Error().stack!)![1]);
      expect(error).toBeInstanceOf(AutogradError);
      expect(error.message).toContain('backward through mul a second time');
      expect(error.message).toContain('{ retainGraph: true }');
      expect(error.at).toMatchObject({ file: import.meta.filename, line: here - 1 });
      expect(allocated(), 'the gradient to start with is given back').toBe(before);
      x.grad!.dispose();
    });
  });

  it('a second backward that meets the first in the middle says so too', () => {
    tidy(() => {
      const x = leaf(3);
      const shared = x.exp();
      shared.sum().backward();
      expect(() => shared.mul(2).backward()).toThrow('backward through exp a second time');
      x.grad!.dispose();
    });
  });

  it('a saved value that was changed in place is noticed, and what was under way given back', () => {
    tidy(() => {
      const x = leaf(3);
      const y = leaf(4);
      const loss = x.mul(y);
      noGrad(() => x.add_(1));
      const before = allocated();
      const error = caught(() => loss.backward());
      expect(error.message).toContain(
        'backward of mul: a value that it needs was changed in place',
      );
      expect(error.given).toBe('a f32[1] tensor, written since forward');
      expect(error.at?.file).toBe(import.meta.filename);
      expect(allocated()).toBe(before);
      expect([x.grad, y.grad]).toEqual([null, null]);
    });
  });

  it('a value of which only the shape was kept may change', () => {
    tidy(() => {
      const x = leaf(3);
      const y = x.mul(2);
      const z = y.add(1);
      noGrad(() => y.fill_(0));
      z.backward();
      expect(values(x.grad)).toEqual([2]);
      x.grad!.dispose();
    });
  });

  it('a write in place to a leaf is refused', () => {
    tidy(() => {
      const x = leaf(3);
      const error = caught(() => x.add_(1));
      expect(error.message).toContain(
        'add_: a write in place to a leaf where gradients are recorded',
      );
      expect(error.remedy).toContain('noGrad');
      expect(values(x)).toEqual([3]);
    });
  });

  it('no history, no single value, no fitting gradient', () => {
    tidy(() => {
      expect(() => tensor([1]).backward()).toThrow('the tensor has no gradient history');
      const x = leaf(1, 2);
      expect(() => x.mul(2).backward()).toThrow('2 elements and no gradient');
      expect(() => x.mul(2).backward(tensor([1]))).toThrow('gradient f32[1] for f32[2]');
      expect(x.grad).toBe(null);
    });
  });

  it('a loss that was disposed can not be differentiated', () => {
    tidy(() => {
      const y = leaf(1).mul(2);
      y.dispose();
      expect(() => y.backward()).toThrow('backward: the tensor has been disposed');
    });
  });
});
