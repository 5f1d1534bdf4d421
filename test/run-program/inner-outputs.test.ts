/** Outputs that other outputs of one program depend on: hooks, kept gradients and `grad` see them as eagerly. */

import { describe, expect, it } from 'vitest';
import { cat, grad, memory, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Outputs = readonly Tensor[];

/** The first output is the one that is looked at. */
const functions: Record<string, (x: Tensor, w: Tensor) => Outputs> = {
  'element by element': (x, w) => {
    const h = x.mul(w);
    return [h, h.exp(), h.add(1).mul(w)];
  },
  'of which a sum repeats one number': (x, w) => {
    const h = x.mul(w);
    return [h, h.sum()];
  },
  'read transposed': (x, w) => {
    const h = x.mul(w);
    return [h, h.t().matmul(w).tanh(), h.t().mul(2)];
  },
  'read in part': (x, w) => {
    const h = x.mul(w);
    return [h, h.narrow(1, 0, 2).exp()];
  },
  'one part of several': (x, w) => {
    const h = x.mul(w);
    return [h.select(0, 1), cat([h, w], 0).exp(), h.relu()];
  },
  'handed out twice': (x, w) => {
    const h = x.mul(w).tanh();
    return [h, h, h.mul(h)];
  },
  'copied over another value': (x, w) => {
    const h = x.mul(w).tanh();
    const t = x.mul(2);
    t.copy_(h);
    return [t, h, t.mul(w)];
  },
  'a chain of outputs': (x, w) => {
    const a = x.mul(w);
    const b = a.exp();
    return [a, b, b.mul(a)];
  },
};

const data = (seed: number) =>
  Array.from({ length: 9 }, (_, i) => Math.sin(i * 7 + seed) + 0.1).map(Math.fround);

interface Look {
  readonly name: string;
  /** Prepares the outputs; answers how to read what was seen. */
  readonly at: (outputs: Outputs, seen: number[][]) => void;
}

const looks: readonly Look[] = [
  {
    name: 'a hook that looks',
    at: ([h], seen) => {
      h!.registerHook((g) => {
        seen.push([...g.dataSync()]);
      });
    },
  },
  { name: 'a hook that answers another gradient', at: ([h]) => h!.registerHook((g) => g.mul(-3)) },
  { name: 'a hook that answers a view', at: ([h]) => h!.registerHook((g) => g.flip([0])) },
  { name: 'a kept gradient', at: ([h]) => h!.retainGrad() },
  {
    name: 'hooks of all outputs, and kept gradients',
    at: (outputs, seen) => {
      for (const output of outputs) {
        output.registerHook((g) => {
          seen.push([...g.dataSync()]);
          return g.add(0.5);
        });
        output.retainGrad();
      }
    },
  },
];

function observe(
  fn: (x: Tensor, w: Tensor) => Outputs,
  look: Look,
  from: readonly number[],
  createGraph = false,
) {
  const x = tensor(data(1)).reshape([3, 3]).detach().requiresGrad_();
  const w = tensor(data(2)).reshape([3, 3]).detach().requiresGrad_();
  const outputs = fn(x, w);
  const seen: number[][] = [];
  look.at(outputs, seen);
  for (const i of from) {
    const output = outputs[i]!;
    const seeds = Float32Array.from({ length: output.numel() }, (_, n) => n - 1.5);
    output.backward(tensor(seeds).reshape([...output.shape]), {
      retainGraph: i !== from.at(-1),
      createGraph,
    });
  }
  const kept = outputs.map(({ grad }) => grad && [...grad.dataSync()]);
  const gradients = [x, w].map(({ grad }) => grad && [...grad.dataSync()]);
  for (const t of [x, w, ...outputs]) t.grad?.dispose();
  return { seen, kept, gradients };
}

/** Gradients of gradients of the squares of these outputs, which are made outside of the program. */
function observeAgain(fn: (x: Tensor, w: Tensor) => Outputs, look: Look, from: readonly number[]) {
  const x = tensor(data(1)).reshape([3, 3]).detach().requiresGrad_();
  const w = tensor(data(2)).reshape([3, 3]).detach().requiresGrad_();
  const outputs = fn(x, w);
  const seen: number[][] = [];
  look.at(outputs, seen);
  const losses = from.map((i) => outputs[i]!.mul(outputs[i]!).sum());
  const first = grad(losses, [x, w], { createGraph: true });
  const sums = first.map((each) => each.mul(each).sum());
  const second = grad(sums, [x, w], { allowUnused: true });
  for (const { grad: kept } of outputs) kept?.dispose();
  return { seen, gradients: [...first, ...second].map((each) => each && [...each.dataSync()]) };
}

describe('run-program/inner-outputs', () => {
  it.each(Object.keys(functions))('%s: whoever looks sees what eager execution shows', (name) => {
    const fn = functions[name]!;
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      const captured = toStatic(fn, { fallback: 'error' });
      for (const look of looks) {
        for (const from of [[1], [0], [2, 1], [1, 0]]) {
          if (from.some((i) => i > 1) && name.includes('repeats')) continue;
          if (from.some((i) => i > 1) && name === 'read in part') continue;
          for (const createGraph of [false, true]) {
            const how = `${look.name}, from ${from.join()}, createGraph ${createGraph}`;
            const expected = observe(fn, look, from, createGraph);
            expect(observe(captured, look, from, createGraph), how).toEqual(expected);
          }
        }
      }
      expect(captured.stats().graphs).toBe(1);
    });
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it.each(Object.keys(functions))(
    '%s: gradients of gradients are those of eager execution',
    (name) => {
      const fn = functions[name]!;
      tidy(() => {
        const captured = toStatic(fn, { fallback: 'error' });
        const different: string[] = [];
        for (const look of looks) {
          for (const from of [[1], [0], [1, 0], [0, 1]]) {
            const [expected, actual] = [fn, captured].map((each) => {
              return JSON.stringify(observeAgain(each, look, from));
            });
            if (actual !== expected) different.push(`${look.name}, from ${from.join()}`);
          }
        }
        expect(different).toEqual([]);
      });
    },
  );

  it('grad() with respect to such an output', () => {
    const fn = (x: Tensor) => {
      const h = x.mul(2);
      return [h, h.exp(), x.tanh()] as const;
    };
    const before = memory.stats('cpu').allocated;
    const found = [fn, toStatic(fn)].map((f) =>
      tidy(() => {
        const x = tensor([0.5, -1]).requiresGrad_();
        const [h, y, z] = f(x);
        const [ofH, ofX] = grad(y.sum(), [h, x], { retainGraph: true });
        const [none] = grad(z.sum(), [h], { allowUnused: true, retainGraph: true });
        const [alone] = grad(y.sum(), [h]);
        return [ofH, ofX, none, alone].map((g) => g && [...g.dataSync()]);
      }),
    );
    expect(found[1]).toEqual(found[0]);
    expect(found[0]![2]).toBeNull();
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('a hook that is registered inside of the function', () => {
    const fn = (x: Tensor) => {
      const h = x.mul(2);
      const y = h.exp();
      h.registerHook((g) => g.mul(10));
      return y;
    };
    const found = [fn, toStatic(fn)].map((f) =>
      tidy(() => {
        const x = tensor([0.5, -1]).requiresGrad_();
        f(x).sum().backward();
        const result = [...x.grad!.dataSync()];
        x.grad!.dispose();
        return result;
      }),
    );
    expect(found[1]).toEqual(found[0]);
  });

  it('a hook that throws leaves nothing behind', () => {
    const f = toStatic((x: Tensor) => {
      const h = x.mul(2);
      return [h, h.exp().mul(h)] as const;
    });
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      const x = tensor([0.5, -1]).requiresGrad_();
      const [h, y] = f(x);
      h.registerHook(() => {
        throw new RangeError('too large');
      });
      expect(() => y.sum().backward()).toThrow(RangeError);
      expect(x.grad).toBeNull();
    });
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('with nobody who looks, planned bytes are measured bytes', () => {
    const f = toStatic((x: Tensor, w: Tensor) => {
      const h = x.matmul(w);
      return [h, h.exp().mul(h).sum()] as const;
    });
    tidy(() => {
      const x = tensor(data(1)).reshape([3, 3]);
      const w = tensor(data(2)).reshape([3, 3]).detach().requiresGrad_();
      const [, loss] = f(x, w);
      memory.reset('cpu');
      const { allocated } = memory.stats('cpu');
      loss.backward();
      const { plan } = f.programs()[0]!.stages!.planned.backward!;
      expect(memory.stats('cpu').peakAllocated - allocated).toBeLessThanOrEqual(
        plan.predicted.peakBytes,
      );
      w.grad!.dispose();
    });
  });
});
