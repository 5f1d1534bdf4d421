/** Every method of tensors with a number of the program: as eagerly, or refused by name; never another error. */

import { describe, expect, it } from 'vitest';
import { clampMax, FullGraphError, seed, Tensor, tensor, toStatic } from '../../../src/index.ts';

interface Form {
  readonly number: number;
  readonly argsOf: (n: number) => unknown[];
}

const forms: Readonly<Record<string, Form>> = {
  'a whole number': { number: 2, argsOf: (n) => [n] },
  'a fraction behind a number': { number: 0.5, argsOf: (n) => [2, n] },
  'a fraction behind a tensor': { number: 0.5, argsOf: (n) => [tensor([1, 2, 3]), n] },
};

/** Of other objects than the tensor, or what another name does as well; and what builds the graph, which checks nothing. */
const notTried =
  /dispose|register|retain|backward|Sync$|data$|item$|tolist|toArray|representLeaf|setGradEdge|joinFamily/i;
const isTried = (name: string): boolean => {
  return (
    !notTried.test(name) && (!name.endsWith('_') || /^(?:fill|clamp|add|mul|pow)_$/.test(name))
  );
};
const names = Object.entries(Object.getOwnPropertyDescriptors(Tensor.prototype)).flatMap(
  ([name, { value }]) => (typeof value === 'function' && isTried(name) ? [name] : []),
);

const plain = (value: unknown): unknown => {
  if (value instanceof Tensor) return [value.dtype, value.shape, value.toArraySync()];
  return Array.isArray(value) ? value.map(plain) : value;
};

type Fn = (x: Tensor, k: Tensor) => unknown;

const attempt = (
  fn: Fn,
  number: number,
): { readonly value?: unknown; readonly error?: unknown } => {
  seed(1);
  try {
    return { value: plain(fn(tensor([1, 2, 3]), tensor(number))) };
  } catch (error) {
    return { error };
  }
};

describe('methods take numbers of a program', () => {
  it.each(Object.entries(forms))('%s', (_form, { number, argsOf }) => {
    let same = 0;
    const others: string[] = [];
    for (const name of names) {
      const fn: Fn = (x, k) => {
        const y = x.mul(1) as unknown as Record<string, (...args: unknown[]) => unknown>;
        const result = y[name]!(...argsOf(k.itemSync()));
        return [result, y];
      };
      const eager = attempt(fn, number);
      if (eager.error) continue;
      const graph = attempt(toStatic(fn, { fullGraph: true }), number);
      if (graph.error instanceof FullGraphError) continue;
      try {
        expect(graph).toEqual(eager);
        same++;
      } catch {
        others.push(`${name}: ${String(graph.error ?? graph.value)}`);
      }
    }
    expect(others).toEqual([]);
    expect(same).toBeGreaterThan(20);
  });
});

describe('clamping by numbers of a program', () => {
  const bounded: Readonly<Record<string, (x: Tensor, n: number) => Tensor>> = {
    clamp: (x, n) => x.clamp(n),
    'clamp from above': (x, n) => x.clamp(null, n),
    'clamp by a number and one of the program': (x, n) => x.clamp({ min: n, max: 1 }),
    clampMin: (x, n) => x.clampMin(n),
    clampMax: (x, n) => clampMax(x, n),
    clamp_: (x, n) => x.mul(1).clamp_(n, 2),
    clampMin_: (x, n) => x.mul(1).clampMin_(n),
    clampMax_: (x, n) => x.mul(1).clampMax_(n),
  };
  const elements = [0.5, -1, Number.NaN, 0, -0, 2, 3, Number.NEGATIVE_INFINITY];

  it.each(Object.entries(bounded))('%s: values and gradients at every bound', (_name, fn) => {
    const outcome = (own: Fn, bound: number) => {
      const x = tensor(elements).requiresGrad_();
      const y = own(x, tensor(bound)) as Tensor;
      y.mul(tensor(elements.map((_, i) => i + 1)))
        .sum()
        .backward();
      return [y, x.grad!].map((each) => [...each.dataSync()]);
    };
    const step: Fn = (x, k) => fn(x, k.itemSync());
    const graph = toStatic(step, { fullGraph: true });
    for (const bound of [0.5, -1, 0, -0, 2, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(outcome(graph, bound), String(bound)).toEqual(outcome(step, bound));
    }
    expect(graph.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });
});
