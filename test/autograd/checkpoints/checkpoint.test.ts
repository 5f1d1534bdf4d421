import { describe, expect, it } from 'vitest';
import { checkpoint } from '../../../runtime/autograd/checkpoint.ts';
import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { grad } from '../../../runtime/backward/grad.ts';
import { AutogradError } from '../../../runtime/errors/errors.ts';
import { linear } from '../../../runtime/ops/products/matmul.ts';
import { rand } from '../../../runtime/ops/random/drawn.ts';
import { seed } from '../../../runtime/random/seed.ts';
import { tidy } from '../../../runtime/tensor/lifetime.ts';
import { allocated, spread, type Tensor, tensor } from '../../ops/eager.ts';

const bytes = 4096;
const leaf = (salt = 0) => tensor(spread([1024], salt), { requiresGrad: true });
const values = (x: Tensor | null | undefined) => x && [...x.dataSync()];
const deep = (x: Tensor) => x.exp().sigmoid().tanh().mul(x).exp();

describe('checkpoint', () => {
  it('gives the same values and gradients, bit for bit', () => {
    tidy(() => {
      const [x, w] = [
        leaf(),
        tensor(spread([8, 1024], 1), { shape: [8, 1024], requiresGrad: true }),
      ];
      const body = (input: Tensor) => linear(deep(input), w).relu();
      const run = (call: (input: Tensor) => Tensor) => {
        const y = call(x.mul(2));
        return [values(y), ...grad(y.sum(), [x, w]).map(values)];
      };
      expect(run((input) => checkpoint(body, input))).toEqual(run(body));
    });
  });

  it.each<[string, (x: Tensor, w: Tensor) => Tensor]>([
    ['one result', (x, w) => checkpoint((own: Tensor) => own.tanh(), x).mul(w)],
    [
      'several results',
      (x, w) => {
        const [y, z] = checkpoint((own: Tensor) => [own.tanh(), own.mul(2)], x);
        return y!.mul(w).add(z!);
      },
    ],
  ])('keeps nothing of a call inside that has no gradients: %s', (_, body) => {
    const w = leaf();
    const before = allocated();
    const x = tensor(spread([1024], 2));
    const loss = tidy(() => checkpoint((own: Tensor) => body(own, w), x).sum());
    loss.backward();
    for (const each of [w.grad!, loss, x]) each.dispose();
    expect(allocated()).toBe(before);
    w.dispose();
  });

  it("keeps its inputs' bytes and its result, and makes the rest again in backward", () => {
    const before = allocated();
    tidy(() => {
      const x = leaf();
      const input = x.mul(2);
      const start = allocated();
      const y = checkpoint(deep, input);
      expect(allocated() - start).toBe(bytes);
      input.dispose();
      expect(allocated() - start, 'the input is kept').toBe(bytes);
      const loss = y.sum();
      y.dispose();
      // Also the result is made again: the last exp saves it.
      expect(allocated() - start).toBe(64);
      loss.backward();
      // x.grad instead of the input.
      expect(allocated() - start).toBe(64);
      x.grad!.dispose();
    });
    expect(allocated()).toBe(before);
  });

  it('gives back everything without backward', () => {
    tidy(() => {
      const x = leaf();
      const start = allocated();
      const input = x.mul(2);
      const y = checkpoint(deep, input);
      input.dispose();
      y.dispose();
      expect(allocated()).toBe(start);
    });
  });

  it('draws the same random numbers, and leaves the stream where it was', () => {
    tidy(() => {
      const x = leaf();
      seed(3);
      const y = checkpoint((input: Tensor) => input.mul(rand([1024])), x);
      const next = values(rand([4]));
      seed(3);
      const mask = rand([1024]);
      rand([2]);
      const [dx] = grad(y.sum(), x);
      expect(values(dx)).toEqual(values(mask));
      const after = values(rand([4]));
      seed(3);
      rand([1024]);
      expect(next).toEqual(values(rand([4])));
      seed(3);
      rand([1026]);
      expect(after).toEqual(values(rand([4])));
    });
  });

  it('may lie inside another, run twice, and be differentiated twice', () => {
    tidy(() => {
      const x = leaf();
      const inner = (input: Tensor) => checkpoint(deep, input.neg()).tanh();
      const outer = (input: Tensor) => checkpoint(inner, input.mul(0.5)).mul(input);
      const plain = (input: Tensor) => deep(input.mul(0.5).neg()).tanh().mul(input);
      const run = (call: (input: Tensor) => Tensor) => {
        const y = call(x).sum();
        const [first] = grad(y, x, { retainGraph: true });
        const [again] = grad(y, x, { createGraph: true });
        const [second] = grad(again!.sum(), x);
        return [first, again, second].map(values);
      };
      expect(run((input) => checkpoint(outer, input))).toEqual(run(plain));
    });
  });

  it('passes constants and further results', () => {
    tidy(() => {
      const x = leaf();
      const [a, b] = checkpoint(
        (input: Tensor, factor: number) => [input.mul(factor), input.exp()] as const,
        x,
        3,
      );
      const [dx] = grad([a.sum(), b.sum()], x);
      expect(values(dx)![0]).toBeCloseTo(3 + Math.exp(x.dataSync()[0]!), 5);
    });
  });

  it('notices changed inputs and parameters, and other work the second time', () => {
    tidy(() => {
      const [x, w] = [leaf(), leaf(1)];
      const input = x.mul(2);
      const start = allocated();
      const y = tidy(() => checkpoint((own: Tensor) => own.exp().mul(w), input).sum());
      noGrad(() => w.fill_(0));
      expect(() => y.backward(null, { retainGraph: true })).toThrow('backward of mul: a value');
      y.dispose();
      const z = tidy(() => checkpoint(deep, input).sum());
      noGrad(() => input.fill_(0));
      expect(() => z.backward()).toThrow('backward of checkpoint: a value that it needs');
      z.dispose();
      let calls = 0;
      const other = (own: Tensor) => (calls++ ? own.exp() : own.exp().exp());
      const fickle = tidy(() => checkpoint(other, x).sum());
      expect(() => fickle.backward(null, { retainGraph: true })).toThrow(AutogradError);
      expect(() => fickle.backward()).toThrow('1 of 2 values are saved');
      fickle.dispose();
      expect(allocated()).toBe(start);
    });
  });
});
