import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { grad } from '../../runtime/backward/grad.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { linear } from '../../runtime/ops/products/matmul.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { toStatic } from '../../src/index.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
const values = (x: Tensor | null | undefined) => x && [...x.dataSync()];

type Write = (x: Tensor, y: Tensor, z: Tensor) => Tensor;

/** In place on a fresh result, and the same out of place. */
const writes: Readonly<Record<string, readonly [Write, Write]>> = {
  add_: [(x, y) => x.add_(y), (x, y) => x.add(y)],
  'add_ with alpha': [(x, y) => x.add_(y, 3), (x, y) => x.add(y.mul(3))],
  'add_ of a number': [(x) => x.add_(2), (x) => x.add(2)],
  'add_ of itself': [(x) => x.add_(x), (x) => x.add(x)],
  mul_: [(x, y) => x.mul_(y), (x, y) => x.mul(y)],
  'mul_ of a number': [(x) => x.mul_(3), (x) => x.mul(3)],
  'mul_ by itself': [(x) => x.mul_(x), (x) => x.mul(x)],
  addcmul_: [(x, y, z) => x.addcmul_(y, z, 2), (x, y, z) => x.add(y.mul(z).mul(2))],
  addcdiv_: [(x, y, z) => x.addcdiv_(y, z, 2), (x, y, z) => x.add(y.div(z).mul(2))],
  copy_: [(x, y) => x.copy_(y), (x, y) => y.expand(x.shape)],
  fill_: [(x) => x.fill_(3), (x) => x.mul(0).add(3)],
  'fill_ of a tensor': [(x, y) => x.fill_(y.sum()), (x, y) => y.sum().expand(x.shape)],
};

describe('a write in place to a result has the gradient of the op out of place', () => {
  for (const [name, [inPlace, outOfPlace]] of Object.entries(writes)) {
    for (const shape of [[2, 3], [3]]) {
      it(`${name}, operands of ${shape.length} dimension(s)`, () => {
        const before = allocated();
        tidy(() => {
          const leaves = () => [
            tensor(spread([2, 3]), { shape: [2, 3], requiresGrad: true }),
            tensor(spread(shape, 1), { shape, requiresGrad: true }),
            tensor(
              spread(shape, 2).map((value) => value + 2),
              { shape, requiresGrad: true },
            ),
          ];
          const gradients = (write: Write) => {
            const own = leaves();
            const [x, y, z] = own as [Tensor, Tensor, Tensor];
            const result = write(x.mul(2), y, z);
            const loss = result.mul(tensor(spread([2, 3], 3), { shape: [2, 3] })).sum();
            const found = grad(loss, own, { allowUnused: true });
            return own.map((leaf, i) => values(found[i]) ?? new Array(leaf.numel()).fill(0));
          };
          const [actual, expected] = [gradients(inPlace), gradients(outOfPlace)];
          for (const [i, own] of expected.entries()) expectClose(actual[i]!, own, `gradient ${i}`);
        });
        expect(allocated()).toBe(before);
      });
    }
  }
});

describe('a write in place', () => {
  it('takes a constant into the graph', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const total = tensor([0, 0]);
      for (let i = 1; i <= 3; i++) total.add_(x.mul(i));
      expect([total.requiresGrad, total.isLeaf]).toEqual([true, false]);
      total.mul(total).sum().backward();
      expect(values(x.grad)).toEqual([72, 144]);
      x.grad!.dispose();
    });
  });

  it('leaves the old node, with what it saved, to the new one', () => {
    tidy(() => {
      const x = tensor(spread([1024]), { requiresGrad: true });
      const start = allocated();
      const y = x.mul(2);
      y.add_(1).mul_(3);
      expect(allocated() - start).toBe(4096);
      y.dispose();
      expect(allocated()).toBe(start);
      // The operand's gradient needs the target as it was: one copy.
      const w = tensor(spread([1024], 1), { requiresGrad: true });
      const z = x.mul(2);
      z.mul_(w);
      expect(allocated() - start).toBe(3 * 4096);
      z.dispose();
      expect(allocated() - start).toBe(4096);
    });
  });

  it('is undone twice for gradients of gradients', () => {
    tidy(() => {
      const x = leaf(2);
      const y = x.mul(x);
      y.mul_(x);
      const [dx] = grad(y, x, { createGraph: true });
      expect(values(dx)).toEqual([12]);
      expect(values(grad(dx!, x)[0])).toEqual([12]);
    });
  });

  it('works on results whose temporaries are gone', () => {
    tidy(() => {
      const x = tensor(spread([2, 2, 3]), { shape: [2, 2, 3], requiresGrad: true });
      const w = tensor(spread([4, 3]), { shape: [4, 3] });
      const y = linear(x, w);
      y.add_(1);
      y.sum().backward();
      expect(x.grad!.shape).toEqual([2, 2, 3]);
      x.grad!.dispose();
    });
  });

  it('keeps retained gradients and hooks where they were asked for', () => {
    tidy(() => {
      const x = leaf(1);
      const y = x.mul(2);
      y.retainGrad();
      const seen: number[] = [];
      y.registerHook((gradient) => {
        seen.push(gradient.itemSync());
        return null;
      });
      y.mul_(3);
      y.mul(5).backward();
      // The hook was on the value before the write.
      expect(seen).toEqual([15]);
      expect(values(y.grad)).toEqual([5]);
      x.grad!.dispose();
    });
  });

  it('is noticed by whoever saved the value before', () => {
    tidy(() => {
      const x = leaf(1);
      const y = x.exp();
      y.add_(1);
      expect(() => y.backward()).toThrow('backward of exp: a value that it needs was changed');
    });
  });

  it('reaches detached handles as values alone, as in PyTorch', () => {
    tidy(() => {
      const x = leaf(1, 2, 3, 4);
      const y = x.mul(1);
      const detached = y.detach();
      const unrecorded = noGrad(() => y.narrow(0, 0, 2));
      y.add_(x);
      expect([y, detached, unrecorded].map(values)).toEqual([
        [2, 4, 6, 8],
        [2, 4, 6, 8],
        [2, 4],
      ]);
      expect([detached, unrecorded].map((h) => h.requiresGrad)).toEqual([false, false]);
      expect(values(grad(y.sum(), x, { retainGraph: true })[0])).toEqual([2, 2, 2, 2]);
      // A write to the detached handle is its own, also through a view of it.
      detached.narrow(0, 1, 3).mul_(x.narrow(0, 1, 3));
      expect(values(y)).toEqual([2, 8, 18, 32]);
      expect(values(grad(detached.sum(), x)[0])).toEqual([0, 4, 6, 8]);
      expect(values(grad(y.sum(), x)[0])).toEqual([2, 2, 2, 2]);
    });
  });

  it('to a view made in noGrad is refused, also through views of it', () => {
    tidy(() => {
      const x = leaf(1, 2, 3, 4);
      const y = x.mul(1);
      const before = values(y);
      const other = noGrad(() => y.narrow(0, 0, 2));
      for (const target of [other, other.narrow(0, 0, 1)]) {
        expect(() => target.add_(x.narrow(0, 0, target.numel()))).toThrow(AutogradError);
        expect(() => target.add_(x.narrow(0, 0, target.numel()))).toThrow('memory that several');
      }
      expect(values(y)).toEqual(before);
      expect(() => x.narrow(0, 0, 2).mul_(2)).toThrow('a write in place to a leaf');
      noGrad(() => x.narrow(0, 0, 2).fill_(0));
      expect(values(x)).toEqual([0, 0, 3, 4]);
    });
  });

  it('to the only view of a disposed tensor, beside a detached handle', () => {
    tidy(() => {
      const x = leaf(1, 2);
      // A product of vectors is a view of a matrix that lives no longer.
      const y = x.matmul(tensor([3, 4]));
      const detached = y.detach();
      y.mul_(2);
      expect([y, detached].map(values)).toEqual([[22], [22]]);
      expect(values(grad(y, x)[0])).toEqual([6, 8]);
    });
  });

  it('to a view whose hidden base is gone, also if the handles are frozen', () => {
    tidy(() => {
      const weight = leaf(2, 3);
      const view = noGrad(() => tidy(() => tensor([1, 2, 3, 4]).reshape([2, 2])));
      const row = view.select(0, 0);
      row.mul_(weight);
      expect(values(row)).toEqual([2, 6]);
      expect(values(view)).toEqual([2, 6, 3, 4]);

      const x = leaf(1, 2, 3, 4).mul(1);
      const [a, b] = [x.reshape([2, 2]), x.narrow(0, 0, 2)];
      for (const each of [a, b]) Object.freeze(each);
      x.dispose();
      const first = a.select(0, 0);
      expect(() => first.mul_(weight)).toThrow(AutogradError);
      b.dispose();
      expect(values(first.mul_(weight))).toEqual([2, 6]);
      expect(values(a)).toEqual([2, 6, 3, 4]);
    });
  });

  it('to a view that a captured call returns without its base', () => {
    const views: ((x: Tensor) => Tensor)[] = [
      (x) => x.detach().narrow(0, 0, 2),
      (x) => x.mul(2).narrow(0, 0, 2),
      (x) => x.detach().reshape([2, 2]).select(0, 1),
    ];
    for (const view of views) {
      const results = [view, toStatic(view), toStatic(view, { fullGraph: true })].map((each) => {
        const [x, weight] = [tensor([1, 2, 3, 4]), leaf(2, 3)];
        const y = each(x);
        y.mul_(weight).sum().backward();
        return [y, weight.grad].map(values);
      });
      expect(results).toEqual([results[0], results[0], results[0]]);
    }
  });

  it('to a view without elements', () => {
    tidy(() => {
      const y = tensor([], { shape: [2, 0, 3], requiresGrad: true }).mul(1);
      const view = y.select(0, 1);
      view.abs_();
      expect(view.requiresGrad).toBe(true);
    });
  });

  it('gives every operand a gradient in its own dtype', () => {
    const floating = ['float32', 'float64', 'float16', 'bfloat16'] as const;
    const writes: ((target: Tensor, y: Tensor, z: Tensor) => Tensor)[] = [
      (target, y, z) => target.add_(y).mul_(z),
      (target, y, z) => target.sub_(y, 2).div_(z),
      (target, y, z) => target.addcmul_(y, z, { value: 2 }),
      (target, y, z) => target.addcdiv_(y, z, { value: 2 }),
      (target, y, z) => target.copy_(y).pow_(z),
      (target, y, z) => target.narrow(0, 0, 1).addcmul_(y, z),
    ];
    tidy(() => {
      for (const dtypes of floating.flatMap((a) => floating.map((b) => [a, b, 'float32'] as const)))
        for (const write of writes) {
          const leaves = dtypes.map((dtype) => tensor([2], { dtype, requiresGrad: true }));
          const [x, y, z] = leaves as [Tensor, Tensor, Tensor];
          const target = x.mul(1);
          write(target, y, z);
          target.sum().backward();
          expect(leaves.map((each) => each.grad?.dtype ?? each.dtype)).toEqual(dtypes);
        }
    });
  });
});
