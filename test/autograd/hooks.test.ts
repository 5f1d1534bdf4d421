import { describe, expect, it } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import { AutogradError, DTypeError, ShapeError } from '../../runtime/errors/errors.ts';
import { keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, spread, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
const values = (x: Tensor | null | undefined) => x && [...x.dataSync()];

describe('retainGrad', () => {
  it('keeps gradients in memory of their own', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(1, 2);
      const h = x.mul(3);
      const same = h.add(1);
      for (const each of [h, same]) each.retainGrad();
      // The gradient of the sum is an expanded number, which both results receive.
      same.sum().backward();
      same.grad!.mul_(2);
      expect([same, h, x].map(({ grad }) => values(grad))).toEqual([
        [2, 2],
        [1, 1],
        [3, 3],
      ]);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });
});

describe('registerHook', () => {
  it('sees the complete gradient of a leaf, once per backward', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const seen: number[][] = [];
      x.registerHook((gradient) => {
        seen.push([...gradient.dataSync()]);
        return null;
      });
      x.mul(x).add(x).sum().backward();
      x.mul(2).sum().backward();
      expect(seen).toEqual([
        [3, 5],
        [2, 2],
      ]);
      expect(values(x.grad)).toEqual([5, 7]);
      x.grad!.dispose();
    });
  });

  it('may replace a gradient, of a leaf and of a result', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(1, 2);
      const h = x.mul(3);
      h.registerHook((gradient) => gradient.mul(10));
      h.registerHook((gradient) => gradient.add(1));
      x.registerHook((gradient) => gradient.neg());
      h.mul(2).sum().backward();
      expect(values(x.grad)).toEqual([-63, -63]);
      const [dh, dx] = grad(x.mul(3).sum(), [x, x]);
      expect([values(dh), values(dx)]).toEqual([
        [-3, -3],
        [-3, -3],
      ]);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('runs in order, and no more once removed', () => {
    tidy(() => {
      const x = leaf(1);
      const order: string[] = [];
      const log = (name: string) => () => {
        order.push(name);
        return null;
      };
      const first = x.registerHook(log('first'));
      x.registerHook(log('second'));
      grad(x.mul(2), x);
      first.remove();
      first.remove();
      grad(x.mul(2), x);
      expect(order).toEqual(['first', 'second', 'second']);
    });
  });

  it('gives back what a hook computes, but what it keeps', () => {
    tidy(() => {
      const x = tensor(spread([1024]), { requiresGrad: true });
      let kept: Tensor | null = null;
      x.registerHook((gradient) => {
        kept = keep(gradient.clone());
        return gradient.mul(2).add(1).neg();
      });
      const start = allocated();
      tidy(() => x.mul(3).sum().backward());
      expect(values(x.grad)![0]).toBe(-7);
      expect(values(kept)![0]).toBe(3);
      expect(allocated() - start).toBe(2 * 4096);
      kept!.dispose();
      x.grad!.dispose();
    });
  });

  it('passes on a tensor that is not its own without taking it over', () => {
    tidy(() => {
      const [x, constant] = [leaf(1), tensor([7])];
      x.registerHook(() => constant);
      x.mul(2).backward();
      expect(values(x.grad)).toEqual([7]);
      x.grad!.fill_(0);
      expect(values(constant)).toEqual([7]);
      x.grad!.dispose();
    });
  });

  it('takes part in gradients of gradients', () => {
    tidy(() => {
      const x = leaf(2);
      const h = x.mul(1);
      h.registerHook((gradient) => gradient.mul(gradient));
      const [dx] = grad(h.pow(3), x, { createGraph: true });
      expect(values(dx)).toEqual([144]);
      // dx = (3h²)² = 9h⁴; its gradient for h, 36h³, passes the hook too, as in PyTorch.
      h.dispose();
      expect(values(grad(dx!, x)[0])).toEqual([288 ** 2]);
    });
  });

  it('an exception in a hook gives back what was under way', () => {
    tidy(() => {
      const x = leaf(1);
      const h = x.exp();
      h.registerHook(() => {
        throw new Error('in the hook');
      });
      const z = h.mul(2);
      const before = allocated();
      expect(() => z.backward()).toThrow('in the hook');
      expect(allocated()).toBe(before);
    });
  });

  it('refuses a gradient of another shape, and tensors without gradient', () => {
    tidy(() => {
      const x = leaf(1, 2);
      x.registerHook((gradient) => gradient.sum());
      expect(() => x.sum().backward()).toThrow(ShapeError);
      expect(() => x.sum().backward()).toThrow('f32[] for f32[2]');
      expect(() => tensor([1]).registerHook(() => null)).toThrow(AutogradError);
      expect(() => tensor([1]).retainGrad()).toThrow('retainGrad: no gradient will arrive here');
    });
  });
});

describe('retainGrad', () => {
  it('fills .grad of a result, adds up, and goes with it', () => {
    const before = allocated();
    tidy(() => {
      const x = leaf(1, 2);
      const h = x.mul(3);
      h.retainGrad();
      h.retainGrad();
      h.mul(h).sum().backward(null, { retainGraph: true });
      expect(values(h.grad)).toEqual([6, 12]);
      h.sum().backward();
      expect(values(h.grad)).toEqual([7, 13]);
      expect(values(x.grad)).toEqual([21, 39]);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('comes after the hooks, and outlives a tidy around backward', () => {
    tidy(() => {
      const x = leaf(1);
      const h = x.mul(3);
      h.retainGrad();
      h.registerHook((gradient) => gradient.mul(5));
      tidy(() => h.mul(2).backward());
      expect(values(h.grad)).toEqual([10]);
      h.dispose();
      expect(h.grad).toBe(null);
      x.grad!.dispose();
    });
  });

  it('of a leaf changes nothing', () => {
    tidy(() => {
      const x = leaf(1);
      x.retainGrad();
      x.mul(2).backward();
      expect(values(x.grad)).toEqual([2]);
      x.grad!.dispose();
    });
  });
});

describe('requiresGrad_', () => {
  it('is for floating-point leaves', () => {
    tidy(() => {
      const x = leaf(1);
      expect(() => x.mul(2).requiresGrad_(false)).toThrow(AutogradError);
      expect(() => x.mul(2).requiresGrad_(false)).toThrow('only leaves can be frozen');
      expect(x.mul(2).requiresGrad_().requiresGrad).toBe(true);
      expect(x.mul(2).detach().requiresGrad_().isLeaf).toBe(true);
      expect(() => tensor(Int32Array.of(1)).requiresGrad_()).toThrow(DTypeError);
      expect(x.requiresGrad_(false).mul(2).requiresGrad).toBe(false);
    });
  });
});
