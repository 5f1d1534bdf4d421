/** Gradients that begin and end in a branch or loop: line searches and inner optimizations; and `.grad` of merged tensors. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { sameAsEager } from './suite.ts';

const f = (v: Tensor) => v.mul(v).sum().add(v.sin().sum());
const x =
  (...values: number[]) =>
  () => [tensor(values).requiresGrad_()];

describe('requiresGrad_() in a branch or loop', () => {
  it('of a tensor that is made there: a line search', () => {
    const search = (start: Tensor) => {
      let w = start.detach();
      let norm = 1;
      for (let k = 0; norm > 0.01 && k < 4; k++) {
        const p = w.clone().requiresGrad_();
        const loss = f(p);
        loss.backward();
        const g = p.grad!;
        const slope = g.mul(g).sum().itemSync();
        let step = 1;
        let next = w.sub(g);
        while (f(next).itemSync() > loss.itemSync() - 0.3 * step * slope && step > 1e-3) {
          step /= 2;
          next = w.sub(g.mul(step));
        }
        w = next;
        norm = g.abs().max().itemSync();
      }
      return w;
    };
    const bounded =
      'the first point takes two iterations, and a step is never as short as the bound';
    sameAsEager(search, [x(1, 2, 3), x(-1, 0.2, 5), x(-0.45, -0.45, -0.45)], {
      never: [
        ['no iteration', '0.01 && k < 4', bounded],
        ['one iteration', '0.01 && k < 4', bounded],
        ['no iteration', 'f(next).itemSync()', bounded],
        ['one iteration', 'f(next).itemSync()', bounded],
        ['second branch', 'step > 1e-3)', bounded],
      ],
    });
  });

  it('of a perturbation that is found by gradients, through branches of its own', () => {
    const attack = (start: Tensor) => {
      let w = start;
      let n = 0;
      while (f(w).itemSync() > 0.5 && n < 6) {
        const p = w.detach().requiresGrad_();
        const loss = p.sum().itemSync() > 4 ? p.mul(p).mul(p).sum() : f(p);
        loss.backward();
        w = w.sub(p.grad!.mul(0.1));
        n++;
      }
      return [w, n];
    };
    sameAsEager(attack, [x(1, 2, 3), x(-1, 0.2, 0.5), x(0, 0.1, 0), x(9, 9, 9)], {
      never: [['no iteration', 'f(w).itemSync()', 'the condition is part of an iteration']],
    });
  });

  it('twice, with gradients that are summed, taken away and frozen again', () => {
    const fn = (start: Tensor) => {
      if (start.sum().itemSync() <= 0) return [start, start.mul(3)];
      const w = start.detach().requiresGrad_();
      f(w).backward();
      w.exp().sum().backward();
      const g = w.grad!;
      w.grad = null;
      w.requiresGrad_(false);
      return [g, w.mul(2)];
    };
    sameAsEager(fn, [x(1, 2, 3), x(-1, 0.2, 0)]);
  });

  const refused: Record<string, readonly [(x: Tensor) => unknown, RegExp]> = {
    'of a tensor from before': [
      (start) => {
        const w = start.mul(1).detach();
        if (start.sum().itemSync() > 0) w.requiresGrad_();
        return w.mul(2);
      },
      /requiresGrad_\(\) in a branch or loop, of a tensor from before it \(.*detach\(\)/,
    ],
    'of a tensor that goes on behind it': [
      (start) => {
        let w = start.mul(1).detach();
        if (start.sum().itemSync() > 0) w = start.detach().requiresGrad_();
        return w.mul(2);
      },
      /leaves a branch or loop after requiresGrad_\(\) \(.*leaves-inside\.test\.ts:\d+:\d+\)/,
    ],
    'of a tensor that goes on with its gradient': [
      (start) => {
        let w = start.mul(1).detach();
        if (start.sum().itemSync() > 0) {
          w = start.detach().requiresGrad_();
          f(w).backward();
          w.requiresGrad_(false);
        }
        return w;
      },
      /leaves a branch or loop with a \.grad/,
    ],
  };
  it.each(Object.entries(refused))('%s is refused by name', (_name, [fn, says]) => {
    const graph = toStatic(fn, { fullGraph: true });
    expect(() => graph(tensor([1, 2]))).toThrow(FullGraphError);
    expect(() => graph(tensor([1, 2]))).toThrow(says);
    const auto = toStatic(fn, { capture: 'auto' });
    for (const values of [
      [1, 2],
      [-1, -2],
    ]) {
      const [eager, captured] = [fn, auto].map((run) => run(tensor(values)) as Tensor);
      expect(captured!.toArraySync()).toEqual(eager!.toArraySync());
      expect(captured!.requiresGrad).toBe(eager!.requiresGrad);
      expect(captured!.grad?.toArraySync()).toEqual(eager!.grad?.toArraySync());
    }
  });
});

describe('.grad of a tensor that paths leave', () => {
  const withGradient = (...values: number[]) => {
    const w = tensor(values).requiresGrad_();
    w.grad = tensor(values.map((value) => 3 - value));
    return w;
  };
  const given = (value: number) => () => [
    tensor([value]),
    withGradient(1, 2),
    tensor([3, 4]).requiresGrad_(),
  ];

  it('is that of the tensor on the path taken', () => {
    const fn = (value: Tensor, p: Tensor, q: Tensor) => {
      const w = value.itemSync() > 0 ? p : q;
      return w.grad ? w.grad.mul(2) : w.mul(3);
    };
    const second = 'of the two only the first has a gradient';
    sameAsEager(fn, [given(1), given(-1)], {
      never: [
        ['second branch', 'w.grad.mul(2)', second],
        ['first branch', 'w.mul(3)', second],
      ],
    });
  });

  it('is none where a path computes another tensor', () => {
    const fn = (value: Tensor, p: Tensor, q: Tensor) => {
      let w = p;
      if (value.itemSync() > 0) w = q.mul(2);
      return w.grad ? w.grad.mul(2) : w;
    };
    sameAsEager(fn, [given(1), given(-1)], {
      never: [['first branch', 'w.grad.mul(2)', 'the first has a gradient']],
    });
  });

  it('made by the function is found in a loop that replaces the tensor', () => {
    const fn = (start: Tensor) => {
      let w = start.detach().requiresGrad_();
      f(w).backward();
      let n = 0;
      while (w.sum().itemSync() < 20) {
        n += w.grad ? 11 : 1;
        w = w.mul(2).detach();
      }
      return [w, n];
    };
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const graph = toStatic(fn, options);
      for (const values of [
        [1, 2, 3],
        [10, 20, 0],
      ]) {
        const [eager, captured] = [fn, graph].map((run) => {
          const [w, n] = run(tensor(values)) as [Tensor, number];
          return [w.toArraySync(), n];
        });
        expect(captured).toEqual(eager);
      }
      expect(graph.stats().breaks).toEqual([]);
    }
  });
});
