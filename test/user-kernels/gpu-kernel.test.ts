/** Ops of plain JavaScript functions: eagerly, captured, differentiated, and what is no kernel. */

import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  AutogradError,
  arange,
  DTypeError,
  gpuKernel,
  grad,
  type KernelThis,
  noGrad,
  ones,
  ShapeError,
  save,
  type Tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { product, samples, smooth } from './kernels.ts';

const shown = (x: Tensor) => ({ shape: x.shape, dtype: x.dtype, values: [...x.dataSync()] });

describe.each(Object.entries(samples))('user-kernels/%s', (_name, { run, operands, expected }) => {
  it('is what ops compute, eagerly and as one graph', () => {
    const given = operands();
    const own = shown(run(...given));
    const ofOps = shown(expected(...given));
    expect(own.shape).toEqual(ofOps.shape);
    own.values.forEach((value, i) => {
      expect(value).toBeCloseTo(ofOps.values[i]!, 5);
    });
    const fn = (...all: Tensor[]) => run(...all.map((each) => each.mul(1))).add(1);
    for (const options of [{}, { fullGraph: true }, { memory: { budget: 1e9 } }, { check: 3 }]) {
      const captured = toStatic(fn, options);
      for (let call = 0; call < 3; call++) {
        expect(shown(captured(...operands()))).toEqual(shown(fn(...operands())));
      }
      expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
    }
  });
});

describe('user-kernels', () => {
  it('has the gradient that finite differences show, eagerly and captured', () => {
    const loss = (a: Tensor, b: Tensor) => product(a.tanh(), b).pow(2).sum();
    const [a, b] = samples['a product of strided operands']!.operands();
    const step = 1e-2;
    for (const fn of [loss, toStatic(loss), toStatic(loss, { fullGraph: true })]) {
      const leaves = [a!.clone().requiresGrad_(), b!.clone().requiresGrad_()] as const;
      const gradients = grad(fn(...leaves), [...leaves]);
      gradients.forEach((gradient, of) => {
        [...gradient.dataSync()].forEach((value, i) => {
          const at = (by: number) => {
            const moved = leaves.map((leaf) => leaf.detach().clone());
            const flat = moved[of]!.reshape([-1]);
            noGrad(() => flat.narrow(0, i, 1).add_(by));
            return loss(moved[0]!, moved[1]!).itemSync();
          };
          expect(value).toBeCloseTo((at(step) - at(-step)) / (2 * step), 1);
        });
      });
    }
  });

  it('trains inside of a captured step, at sizes that change, with bytes as predicted', () => {
    const make = () => {
      const w = ones([5, 2]).mul(0.1).requiresGrad_();
      const step = (x: Tensor) => {
        w.grad = null;
        const loss = product(x, w).sub(1).pow(2).mean();
        loss.backward();
        noGrad(() => w.sub_(w.grad!.mul(0.1)));
        return loss;
      };
      return { w, step };
    };
    const [eager, other] = [make(), make()];
    const captured = toStatic(other.step);
    for (const rows of [3, 8, 3, 1, 40, 8]) {
      const x = arange(rows * 5)
        .to('float32')
        .div(rows * 5)
        .reshape([rows, 5]);
      expect(shown(captured(x))).toEqual(shown(eager.step(x)));
      expect(shown(other.w)).toEqual(shown(eager.w));
      const text = String(captured.explain());
      const [, measured, planned] = /peak of the last run (\S+) bytes measured, (\S+) planned/.exec(
        text,
      )!;
      expect(measured).toBe(planned);
    }
    expect(captured.stats().breaks).toEqual([]);
  });

  it('without a gradient refuses operands that require one, with null it is a constant', () => {
    const own = gpuKernel(
      function twice(x: number[]) {
        return x[this.thread.x]! * 2;
      },
      { shape: (x) => x },
    );
    const x = ones([3]).requiresGrad_();
    for (const fn of [own, toStatic((y: Tensor) => own(y))]) {
      expect(() => fn(x)).toThrow(AutogradError);
      expect(() => fn(x)).toThrow(/twice has no gradient/);
      expect(noGrad(() => fn(x)).requiresGrad).toBe(false);
    }
    expect(smooth(x, zeros([])).requiresGrad).toBe(false);
  });

  it('names what is wrong with operands and gradients', () => {
    expect(() => product(ones([3, 5]), ones([5]))).toThrow(ShapeError);
    expect(() => product(ones([2, 3, 5]), ones([5, 2]))).toThrow(/2 dimensions, as many/);
    expect(() => product(ones([3, 5]).to('float64'), ones([5, 2]))).toThrow(DTypeError);
    expect(() => smooth(ones([1, 1, 1, 1]), zeros([]))).toThrow(/1 dimension, as many/);
    const wrong = gpuKernel(
      function wrong(x: number[]) {
        return x[this.thread.x]!;
      },
      { shape: (x) => x, gradient: (g) => g.sum() },
    );
    expect(() =>
      wrong(ones([3]).requiresGrad_())
        .sum()
        .backward(),
    ).toThrow(/gradient of wrong/);
    const outside = gpuKernel(
      function outside(x: number[][]) {
        return x[this.thread.y + 1]![0]!;
      },
      { shape: (x) => x, gradient: null },
    );
    expect([...outside(ones([2, 1])).dataSync()]).toEqual([1, NaN]);
    const noShape = gpuKernel(
      function noShape(x: number[]) {
        return x[0]!;
      },
      { shape: () => [1.5], gradient: null },
    );
    expect(() => noShape(ones([2]))).toThrow(/no such result/);
  });

  const changing = { value: 2 };
  type Kernel = Parameters<typeof gpuKernel>[0];
  type This = KernelThis;
  const refused: Readonly<Record<string, readonly [fn: unknown, says: RegExp]>> = {
    'an arrow function': [(x: number[]) => x[0]!, /an arrow function.*gpu-kernel\.test\.ts:\d+/s],
    'a call': [
      function (this: This, x: number[]) {
        return Number(x[this.thread.x]);
      },
      /a call of Number/,
    ],
    'Math.random': [
      function (this: This, x: number[]) {
        return x[this.thread.x]! + Math.random();
      },
      /a call of Math\.random/,
    ],
    'a variable around it': [
      function (this: This, x: number[]) {
        return x[this.thread.x]! * changing.value;
      },
      /changing/,
    ],
    'a write to an operand': [
      function (this: This, x: number[]) {
        x[this.thread.x] = 1;
        return 0;
      },
      /an assignment to x\[this\.thread\.x\]/,
    ],
    'an unknown constant': [
      function (this: KernelThis<{ n: number }>, x: number[]) {
        return x[this.thread.x]! * this.constants.n;
      },
      /the constant n/,
    ],
    'no return': [
      function (this: This, x: number[]) {
        if (x[this.thread.x]! > 0) return 1;
      },
      /does not end with return/,
    ],
    'a method of the language': [Math.max, /source of max can't be had/],
    'no function': [null, /no function to make a kernel of/],
  };

  it.each(Object.entries(refused))('refuses %s by name', (_name, [fn, says]) => {
    const make = () => gpuKernel(fn as Kernel, { shape: [1] });
    expect(make).toThrow(ArgumentError);
    expect(make).toThrow(says);
  });

  it('refuses options that it does not have, and a missing shape', () => {
    function first(this: This, x: number[]) {
      return x[this.thread.x]!;
    }
    expect(() => gpuKernel(first, {} as never)).toThrow(/shape of the result is missing/);
    const misspelt = { shape: [1], gradients: null } as never;
    expect(() => gpuKernel(first, misspelt)).toThrow(/did you mean 'gradient'/);
  });

  it('is not put into files', async () => {
    const captured = toStatic((x: Tensor) => smooth(x, x.sum()).add(1));
    captured(ones([4]));
    await expect(save(captured)).rejects.toThrow(/the kernel smooth, made by gpuKernel/);
  });

  it('is read from minified code', () => {
    const text =
      'return g(function(n,r){let t=0;for(let e=0;e<this.constants.n;e++)t+=n[this.thread.y][e]*r[e][this.thread.x];return t},o)';
    const options = { shape: () => [2, 2], constants: { n: 3 }, gradient: null };
    const own = new Function('g', 'o', text)(gpuKernel, options) as (
      a: Tensor,
      b: Tensor,
    ) => Tensor;
    const [a, b] = [arange(6).to('float32').reshape([2, 3]), ones([3, 2])];
    expect(shown(own(a, b))).toEqual(shown(a.matmul(b)));
  });
});
