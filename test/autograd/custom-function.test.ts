import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { customFunction } from '../../runtime/backward/custom-function.ts';
import { grad } from '../../runtime/backward/grad.ts';
import { AutogradError, ShapeError } from '../../runtime/errors/errors.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { FullGraphError, toStatic } from '../../src/index.ts';
import { allocated, spread, type Tensor, tensor } from '../ops/eager.ts';

const leaf = (...values: number[]) => tensor(values, { requiresGrad: true });
const values = (x: Tensor | null | undefined) => x && [...x.dataSync()];

const cube = customFunction({
  name: 'cube',
  forward: (ctx, x: Tensor) => {
    ctx.saveForBackward(x);
    return x.mul(x).mul(x);
  },
  backward: (ctx, dy) => {
    const [x] = ctx.savedTensors as [Tensor];
    return dy.mul(x).mul(x).mul(3);
  },
});

describe('customFunction', () => {
  it('has the gradient that it says', () => {
    tidy(() => {
      const x = leaf(2, 3);
      const y = cube(x.mul(1));
      expect(values(y)).toEqual([8, 27]);
      y.sum().backward();
      expect(values(x.grad)).toEqual([12, 27]);
      x.grad!.dispose();
    });
  });

  it('keeps what it saves until backward, and no temporaries', () => {
    const before = allocated();
    tidy(() => {
      const x = tensor(spread([1024]), { requiresGrad: true });
      const input = x.mul(1);
      const start = allocated();
      const y = cube(input);
      expect(allocated() - start).toBe(4096);
      input.dispose();
      expect(allocated() - start, 'it is saved').toBe(4096);
      const loss = y.sum();
      y.dispose();
      loss.backward();
      // x.grad and the loss; input and output are gone.
      expect(allocated() - start).toBe(64);
      x.grad!.dispose();
      const unused = cube(x);
      unused.dispose();
      expect(allocated() - start).toBe(64 - 4096);
    });
    expect(allocated()).toBe(before);
  });

  it('can be differentiated twice, through inputs and outputs that it saved', () => {
    tidy(() => {
      const x = leaf(2);
      const [dx] = grad(cube(x), x, { createGraph: true });
      expect(values(grad(dx!, x)[0])).toEqual([12]);
      const exponential = customFunction({
        forward: (ctx, input: Tensor) => {
          const out = input.exp();
          ctx.saveForBackward(out);
          return out;
        },
        backward: (ctx, dy) => dy.mul(ctx.savedTensors[0]!),
      });
      const [first] = grad(exponential(x), x, { createGraph: true });
      const [second] = grad(first!, x, { createGraph: true });
      expect(values(second)![0]).toBeCloseTo(Math.exp(2), 5);
      expect(values(grad(second!, x)[0])![0]).toBeCloseTo(Math.exp(2), 5);
    });
  });

  it('takes several inputs, constants too, and gives several outputs', () => {
    tidy(() => {
      const seen: unknown[] = [];
      const both = customFunction({
        forward: (ctx, x: Tensor, y: Tensor, scale: number) => {
          ctx.scale = scale;
          return [x.add(y), x.mul(scale), x.argmax(0)] as const;
        },
        backward: (ctx, sum, scaled) => {
          seen.push(ctx.needsInputGrad, values(sum));
          return [sum.add(scaled.mul(ctx.scale as number)), sum, null];
        },
      });
      const [x, y] = [leaf(1, 2), leaf(3, 4)];
      const [sum, scaled, index] = both(x, y, 10);
      expect([sum.requiresGrad, scaled.requiresGrad, index.requiresGrad]).toEqual([
        true,
        true,
        false,
      ]);
      scaled.sum().backward();
      expect([values(x.grad), values(y.grad)]).toEqual([
        [10, 10],
        [0, 0],
      ]);
      expect(seen).toEqual([
        [true, true, false],
        [0, 0],
      ]);
      sum.dispose();
      for (const own of [x, y]) own.grad!.dispose();
    });
  });

  it('may pass on an input, a gradient, and one gradient twice', () => {
    tidy(() => {
      const reversed = customFunction({
        forward: (_ctx, x: Tensor) => x,
        backward: (_ctx, dy) => dy.neg(),
      });
      const x = leaf(3);
      const y = reversed(x);
      expect([y === x, y.holder === x.holder]).toEqual([false, true]);
      y.mul(2).backward();
      expect(values(x.grad)).toEqual([-2]);
      const sum = customFunction({
        forward: (_ctx, a: Tensor, b: Tensor) => a.add(b),
        backward: (_ctx, dy) => [dy, dy],
      });
      const [a, b] = [leaf(1), leaf(2)];
      sum(a, b).backward();
      a.grad!.fill_(7);
      expect(values(b.grad)).toEqual([1]);
      for (const own of [x, a, b]) own.grad!.dispose();
    });
  });

  it('records nothing where nothing is differentiated', () => {
    tidy(() => {
      const x = tensor([2]);
      const y = cube(x);
      expect([y.requiresGrad, x.holder!.owners]).toEqual([false, 1]);
      expect(noGrad(() => cube(leaf(2))).requiresGrad).toBe(false);
    });
  });

  it('mistakes are named with the function', () => {
    tidy(() => {
      const x = leaf(1, 2);
      const wrong = (answer: (dy: Tensor) => Tensor | (Tensor | null)[]) =>
        customFunction({
          name: 'wrong',
          forward: (_ctx, input: Tensor) => input.mul(1),
          backward: (_ctx, dy) => answer(dy),
        })(x).sum();
      const start = allocated();
      const run = (answer: (dy: Tensor) => Tensor | (Tensor | null)[]) => () =>
        tidy(() => wrong(answer).backward());
      expect(run((dy) => dy.sum())).toThrow(ShapeError);
      expect(run((dy) => dy.sum())).toThrow('backward of wrong: a gradient does not fit its input');
      expect(run((dy) => [dy, null])).toThrow('2 gradients for 1 inputs');
      expect(allocated()).toBe(start);
      const y = cube(x);
      noGrad(() => x.fill_(0));
      expect(() => y.sum().backward()).toThrow(AutogradError);
      expect(() => cube(x).sum().backward()).not.toThrow();
      x.grad!.dispose();
    });
  });

  const positive = (x: Tensor) => x.sum().itemSync() > 0;
  const bodies: Record<string, (x: Tensor, w: Tensor) => Tensor> = {
    'in a branch': (x, w) => (positive(x) ? cube(x.mul(w)) : x.mul(w)),
    'in a loop': (x, w) => {
      let y = x.mul(w);
      for (let i = 0; i < 3 && y.abs().sum().itemSync() < 9; i++) y = cube(y).add(w);
      return y;
    },
    'in a list that a loop extends': (x, w) => {
      const all = [x.mul(w)];
      for (let i = 0; x.abs().sum().itemSync() > i; i++) all.push(cube(x.mul(w)));
      return all.reduce((a, b) => a.add(b));
    },
    'differentiated in its branch': (x, w) => {
      const y = w.detach().requiresGrad_();
      let total = x;
      if (positive(x)) {
        const z = y.detach().requiresGrad_();
        cube(z.mul(x)).sum().backward();
        total = z.grad!;
      }
      return total.mul(w);
    },
  };

  it.each(Object.entries(bodies))(
    'has its own gradient where data decides about it: %s',
    (name, body) => {
      for (const options of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
        const captured = toStatic(body, options);
        for (const sign of [1, -1, 1]) {
          const outcomeOf = (fn: typeof body) => {
            const w = leaf(2, 3);
            const y = fn(tensor([sign, 0.5 * sign]), w);
            y.sum().backward();
            return [values(y), values(w.grad)];
          };
          if ('fullGraph' in options && name !== 'differentiated in its branch') {
            expect(() => outcomeOf(captured)).toThrow(FullGraphError);
          } else expect(outcomeOf(captured)).toEqual(outcomeOf(body));
        }
      }
    },
  );
});
