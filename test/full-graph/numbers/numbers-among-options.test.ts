/** A number of the program as an option, PyTorch's keywords among them: one program, with eager values and gradients. */

import { describe, expect, it } from 'vitest';
import * as T from '../../../src/index.ts';
import { seed, type Tensor, toStatic } from '../../../src/index.ts';

type Call = (x: Tensor, y: Tensor, n: number) => Tensor;

const calls: Readonly<Record<string, Call>> = {
  'add, alpha': (x, y, n) => x.add(y, { alpha: n }),
  'sub, alpha': (x, y, n) => T.sub(x, y, { alpha: n }),
  'rsub, alpha': (x, y, n) => T.rsub(x, y, { alpha: n }),
  'add_, alpha': (x, y, n) => x.mul(1).add_(y, { alpha: n }),
  'sub_, alpha': (x, y, n) => x.mul(1).sub_(y, { alpha: n }),
  'addcmul, value': (x, y, n) => x.addcmul(y, y, { value: n }),
  'addcdiv, value': (x, y, n) => T.addcdiv(x, y, y, { value: n }),
  'clamp, both': (x, _y, n) => x.clamp({ min: -n, max: n }),
  'clamp, one': (x, _y, n) => T.clamp(x, { max: n }),
  'clamp, a number and one of the program': (x, _y, n) => x.clamp({ min: -0.1, max: n }),
  'clamp_, both': (x, _y, n) => x.detach().clamp_({ min: -n, max: n }),
  'clamp_, by position': (x, _y, n) => x.detach().clamp_(-n),
  'where, beside a condition': (x, y, n) => T.where(y.gt(0), x, n),
  'huberLoss, delta': (x, y, n) => T.huberLoss(x, y, { delta: n }),
  'crossEntropy, labelSmoothing': (x, y, n) =>
    T.crossEntropy(x, y.argmax(1), { labelSmoothing: n / 4 }),
  'addmm, beta': (x, y, n) => T.addmm(x, y, y, { beta: n }),
  'isclose, atol': (x, y, n) => x.isclose(y, { atol: n }).float(),
};

function outcome(step: (x: Tensor, y: Tensor) => Tensor, call: number) {
  seed(call);
  const [x, y] = [T.randn([3, 3]).requiresGrad_(), T.randn([3, 3]).requiresGrad_()];
  const result = step(x, y);
  if (result.requiresGrad) result.sum().backward();
  return [result, x.grad, y.grad].map((tensor) => tensor?.toArraySync());
}

describe('numbers among options', () => {
  it.each(Object.entries(calls))('%s', (_name, call) => {
    const step = (x: Tensor, y: Tensor): Tensor =>
      call(x, y, x.detach().abs().mean().itemSync()).mul(2);
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const captured = toStatic(step, { ...options, strict: true, check: 3 });
      for (let i = 0; i < 3; i++) expect(outcome(captured, i)).toEqual(outcome(step, i));
      expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], translations: 1 });
    }
  });

  it('rows from a number of the program on go through modules that hold their options', () => {
    const modules = [new T.nn.Conv2d(1, 2, 3, { padding: 1 }), new T.nn.MaxPool2d(2)] as const;
    const step = (x: Tensor): Tensor => {
      const top = Math.floor(x.abs().mean().itemSync() * 4);
      const rows = modules[1].forward(modules[0].forward(x.slice(2, top, top + 4)));
      return rows.sum([2, 3]);
    };
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const captured = T.noGrad(() => toStatic(step, { ...options, strict: true, check: 3 }));
      T.noGrad(() => {
        for (let i = 0; i < 3; i++) {
          seed(i);
          const x = T.randn([2, 1, 8, 6]);
          expect(captured(x).toArraySync()).toEqual(step(x).toArraySync());
        }
      });
      expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [] });
    }
  });

  it('methods that draw in place take it, and what needs the number itself says which function that is', () => {
    const drawing = (x: Tensor) => x.mul(1).normal_(0, x.sum().itemSync());
    const drawn = toStatic(drawing, { fullGraph: true });
    for (const values of [
      [1, 2, 3],
      [4, 5, 6],
    ]) {
      const [eager, captured] = [drawing, drawn].map((fn) => {
        T.seed(3);
        return fn(T.tensor(values)).toArraySync();
      });
      expect(captured).toEqual(eager);
    }
    expect(drawn.stats()).toMatchObject({ breaks: [], fallbacks: [] });
    const options = toStatic((x: Tensor) => x.round({ decimals: x.sum().itemSync() } as never), {
      fullGraph: true,
    });
    expect(() => options(T.randn([3]))).toThrow(/round/);
  });
});
