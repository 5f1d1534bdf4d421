/** What a backward for some inputs uses up of a captured function is what it uses up eagerly. */

import { describe, expect, it } from 'vitest';
import { AutogradError, grad, type Tensor, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor, v: Tensor) => Tensor[];

const functions: Record<string, Fn> = {
  'a product of two paths': (x, w, v) => [x.mul(w).tanh().mul(v.exp()).sum()],
  'two results with one part': (x, w, v) => {
    const part = v.exp();
    return [part.mul(w.sigmoid()).sum(), part.mul(x).tanh().sum()];
  },
  'two results with a part in the middle': (x, w, v) => {
    const part = x.mul(w).tanh();
    return [part.mul(v).sum(), part.exp().mul(v.sigmoid()).sum()];
  },
  'a result behind another': (x, w, v) => {
    const y = x.mul(w).tanh();
    return [y, y.mul(v.exp()).sigmoid()];
  },
  'equal values': (x, w, v) => {
    const [a, b] = [w.exp(), w.exp()];
    return [a.mul(v).sum(), b.mul(x).mul(b).sum()];
  },
  'a write through a view': (x, w, v) => {
    const y = x.mul(w);
    y.select(0, 0).mul_(v.select(0, 1).exp());
    return [y.sigmoid(), v.tanh()];
  },
  'a sum of many': (x, w, v) => [x.mul(w).add(w.mul(v)).add(w.mul(v).tanh()), w.mul(2).tanh()],
};

type Ask = 'w' | 'v' | 'x' | 'y0';

/** Results, what is requested of them, and how. */
interface Use {
  readonly of: 'first' | 'last' | 'both';
  readonly ask: readonly Ask[];
  readonly how: 'plain' | 'retain' | 'createGraph' | 'createGraphOnce' | 'backward';
}

const asks: readonly (readonly Ask[])[] = [['w'], ['v'], ['x', 'v'], ['y0'], ['w', 'v']];

function uses(): Use[][] {
  const all: Use[][] = [];
  for (const of of ['first', 'last', 'both'] as const) {
    for (const ask of asks) {
      for (const how of ['plain', 'createGraphOnce', 'createGraph'] as const) {
        const first: Use = { of, ask, how };
        for (const then of ['first', 'last'] as const) {
          for (const second of asks) {
            all.push([first, { of: then, ask: second, how: 'plain' }]);
          }
          all.push([first, { of: then, ask: [], how: 'backward' }]);
        }
      }
    }
  }
  return all;
}

function outcome(fn: Fn, steps: readonly Use[]): readonly unknown[] {
  const [x, w, v] = [1, 2, 3].map((seed) => weights([2, 3], seed)) as [Tensor, Tensor, Tensor];
  const log: unknown[] = [];
  const results = fn(x, w, v);
  const named: Record<Ask, Tensor> = { x, w, v, y0: results[0]! };
  results[0]!.registerHook((g) => {
    log.push('hook', g.toArraySync());
    return null;
  });
  for (const { of, ask, how } of steps) {
    const roots = of === 'both' ? results : [of === 'first' ? results[0]! : results.at(-1)!];
    const sums = roots.map((y) => y.mul(1).sum());
    try {
      if (how === 'backward') {
        sums[0]!.backward();
        log.push(...[x, w, v].map((t) => t.grad?.toArraySync() ?? null));
        continue;
      }
      const graph = how === 'createGraph' || how === 'createGraphOnce';
      const found = grad(
        sums,
        ask.map((name) => named[name]),
        {
          allowUnused: true,
          createGraph: graph,
          retainGraph: how === 'retain' || how === 'createGraph',
        },
      );
      log.push(...found.map((g) => g?.toArraySync() ?? null));
    } catch (error) {
      if (!(error instanceof AutogradError)) throw error;
      log.push(error.message.split('\n')[0]);
    }
  }
  return log;
}

describe('a request for some gradients', () => {
  for (const [name, fn] of Object.entries(functions)) {
    it(`uses up what it does eagerly: ${name}`, () => {
      const captured = toStatic(fn);
      let worked = 0;
      for (const steps of uses()) {
        const eager = outcome(fn, steps);
        expect(outcome(captured, steps), JSON.stringify(steps)).toEqual(eager);
        if (!eager.some((each) => typeof each === 'string' && each !== 'hook')) worked++;
      }
      expect(worked).toBeGreaterThan(10);
    });
  }
});
