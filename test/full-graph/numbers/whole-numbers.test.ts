/** Numbers of the program that are whole meet integer tensors as whole numbers of the host do. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, tidy, toStatic, where } from '../../../src/index.ts';
import { outcome } from '../outcome.ts';

const dtypes = ['int32', 'uint8'] as const;

describe('an integer tensor and a number of the program', () => {
  const cases: Record<string, (s: Tensor) => unknown> = {
    'a counter': (s) => {
      let i = 0;
      while (s.sum().itemSync() < 20) {
        s = s.add(i);
        i++;
      }
      return [s, i];
    },
    'a product and a difference of counters': (s) => {
      let i = 1;
      while (s.max().itemSync() < 40) {
        s = s.mul(i + 1).sub(i * 2 - 1);
        i += 2;
      }
      return [s, i];
    },
    'what branches leave': (s) => {
      let n = 3;
      if (s.sum().itemSync() > 4) n = s.max().itemSync() + 1;
      return [s.add(n), s.remainder(n), s.eq(n)];
    },
    'what is rounded': (s) => {
      const mean = s.float().mean().itemSync();
      return [s.add(Math.floor(mean)), s.mul(Math.round(mean * 2)), s.sub(mean | 0)];
    },
    'a number that a run makes too large for the dtype': (s) => s.add(s.sum().itemSync() * 2 ** 28),
  };
  it.each(Object.entries(cases))('%s', { timeout: 60_000 }, (_name, fn) => {
    for (const dtype of dtypes) {
      const graph = toStatic(fn, { fullGraph: true });
      for (const values of [
        [1, 2],
        [10, 20],
        [0, 3],
        [7, 100],
      ]) {
        const make = () => [tensor(values, { dtype })];
        const [eager, captured] = tidy(() => [outcome(fn, make()), outcome(graph, make())]);
        expect(captured, `${dtype} ${values}`).toEqual(eager);
      }
      expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
    }
  });

  it('that does not stay whole is refused by name, with the cast to write', () => {
    const halves = (s: Tensor) => {
      let i = 0;
      while (s.sum().itemSync() < 20) {
        s = s.add(1).add(i);
        i += 0.5;
      }
      return s;
    };
    const graph = toStatic(halves, { fullGraph: true });
    const refused = () => graph(tensor([1, 2], { dtype: 'int32' }));
    expect(refused).toThrow(FullGraphError);
    expect(refused).toThrow(/joins a tensor of int32: whether it is whole .*x\.float\(\)/);
  });
});

describe('a choice between two numbers', () => {
  const chosen =
    (other: (n: Tensor) => number) =>
    (x: Tensor, n: Tensor): Tensor =>
      where(x.gt(0), n.itemSync(), other(n));
  const results = (fn: (x: Tensor, n: Tensor) => Tensor, dtype: 'float32' | 'int32') =>
    [3, 4].map((n) => {
      const result = fn(tensor([1, -1]), tensor(n, { dtype }));
      return [result.dtype, result.tolist()];
    });

  it.each([
    ['both whole', 'int32', (): number => 1],
    ['both of the program, whole', 'int32', (n: Tensor) => n.add(1).itemSync()],
    ['one of them a fraction', 'float32', (): number => 0.5],
  ] as const)('has the dtype of eager execution: %s', (_, dtype, other) => {
    const fn = chosen(other);
    expect(results(toStatic(fn, { fullGraph: true }), dtype)).toEqual(results(fn, dtype));
  });

  it('is refused where a run decides whether they are whole', () => {
    const fn = chosen(() => 1);
    expect(() => results(toStatic(fn, { fullGraph: true }), 'float32')).toThrow(
      'whether it is whole',
    );
    expect(results(toStatic(fn, { capture: 'auto' }), 'float32')).toEqual(results(fn, 'float32'));
  });
});
