import { describe, expect, it } from 'vitest';
import { noGrad, ones, type Tensor, toStatic } from '../../src/index.ts';

type Fn = (x: Tensor, w: Tensor, createGraph: boolean) => Tensor[];

/** What each returns is backpropagated result by result. The results are of one subgraph, and one of them is overwritten. */
const functions: Readonly<Record<string, Fn>> = {
  'a result that no other needs': (x, w) => [x.mul(w), w.tanh()],
  'a result that others need': (x, w) => {
    const early = w.exp();
    return [early, early.mul(x).sigmoid()];
  },
  'results side by side': (_, w) => [w.tanh(), w.exp(), w.sigmoid()],
};

function outcome(fn: Fn, createGraph: boolean, kept: 'grad' | 'hook'): unknown {
  const [x, w] = [ones([2, 3]), ones([2, 3]).requiresGrad_()];
  const results = fn(x, w, createGraph);
  const seen: unknown[] = [];
  if (createGraph) {
    results[0]!.mul(w).sum().backward(null, { retainGraph: true, createGraph });
  }
  for (const each of results) {
    if (kept === 'grad') each.retainGrad();
    else {
      each.registerHook((gradient) => {
        seen.push(gradient.tolist());
      });
    }
  }
  noGrad(() => results.at(-1)!.add_(1));
  for (const each of [...results].reverse()) {
    try {
      each.mul(3).sum().backward(null, { retainGraph: true });
      seen.push('done');
    } catch (error) {
      seen.push((error as Error).name);
    }
    seen.push(results.map(({ grad }) => grad?.tolist() ?? null));
  }
  return seen;
}

describe.each(Object.keys(functions))(
  '%s keeps its gradient where backward is rejected',
  (name) => {
    it.each([
      [false, 'grad'],
      [true, 'grad'],
      [false, 'hook'],
      [true, 'hook'],
    ] as const)('createGraph: %s, by %s', (createGraph, kept) => {
      const expected = outcome(functions[name]!, createGraph, kept);
      expect(expected).toContain('AutogradError');
      expect(outcome(toStatic(functions[name]!, { strict: true }), createGraph, kept)).toEqual(
        expected,
      );
    });
  },
);
