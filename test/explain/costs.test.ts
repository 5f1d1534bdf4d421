/** Each warning of what costs time, provoked. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { breakGraph, nn, ones, type Tensor, toStatic } from '../../src/index.ts';

const warnings = (f: { explain(): string }): string[] =>
  f
    .explain()
    .split('\n')
    .filter((line) => line.startsWith('costs time: '));

describe('explain warns', () => {
  beforeEach(() => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('of traces again', () => {
    const f = toStatic((x: Tensor, o: { mode: string }) => x.mul(o.mode.length).add(1).exp().sum());
    for (let i = 0; i < 6; i++) f(ones([2]), { mode: 'm'.repeat(i + 2) });
    expect(warnings(f)).toEqual([expect.stringContaining('traces in 6 calls')]);
  });

  it('of traces again behind a graph break, not of one trace behind each of many', () => {
    const step = (x: Tensor) => {
      breakGraph();
      return x.mul(2).add(1).exp().sum().mul(3);
    };
    const steady = toStatic((x: Tensor) => {
      let y = x;
      y = step(y).add(x);
      y = step(y).add(x);
      y = step(y).add(x);
      return step(y).add(x);
    });
    for (let i = 0; i < 4; i++) steady(ones([4]));
    expect(steady.stats().translations).toBeGreaterThan(4);
    expect(warnings(steady).filter((line) => line.includes('trace'))).toEqual([]);

    const changing = toStatic(
      (x: Tensor, o: { mode: string }) => {
        const y = x.mul(2).add(1).exp().sum();
        breakGraph();
        return y.mul(o.mode.length).add(1).exp().sum();
      },
      { dynamic: false },
    );
    for (let i = 0; i < 6; i++) changing(ones([2]), { mode: 'm'.repeat(i + 2) });
    const [first] = warnings(changing);
    expect(first).toMatch(/: 6 traces from \S+costs\.test\.ts:\d+:\d+ on in 6 calls/);
  });

  it.each([true, false, 'auto'] as const)('of traces again, with dynamic: %s', (dynamic) => {
    const f = toStatic((x: Tensor, o: { mode: string }) => x.mul(o.mode.length).exp().sum(), {
      dynamic,
    });
    for (let i = 0; i < 6; i++) f(ones([2]), { mode: 'm'.repeat(i + 2) });
    const advises = warnings(f)[0]!.includes('dynamic: true');
    expect(advises).toBe(dynamic !== true);
  });

  it.each<[string, (cache: Tensor[], x: Tensor) => Tensor, string]>([
    [
      'a loop that ends early',
      (cache, x) => {
        let sum = x;
        for (const each of cache) {
          sum = sum.add(each);
          if (each === x) break;
        }
        return sum;
      },
      'compared by identity',
    ],
    [
      'a loop over another range',
      (cache, x) => {
        let sum = x;
        for (let i = 0; i < cache.length / 2; i++) sum = sum.add(cache[i]!);
        return sum;
      },
      'its index is not',
    ],
    ['a callback', (cache, x) => x.add(cache.map((t) => t.shape.length).length), 'the shape of'],
    ['a length', (cache, x) => x.reshape(...cache.map(() => 1)), 'than a tensor'],
    ['all elements', (cache, x) => x.mul(Math.max(...cache.map((t) => t.rank))), 'than a tensor'],
  ])('of traces for each length of an array: %s', (_, body, why) => {
    const cache: Tensor[] = [];
    const f = toStatic((x: Tensor) => {
      cache.push(x.exp());
      return body(cache, x).mul(2).add(1);
    });
    for (let i = 0; i < 6; i++) f(ones([1]));
    const { perLength = [] } = f.stats();
    expect(perLength.length).toBeGreaterThan(0);
    const [{ at, why: found }] = perLength as [(typeof perLength)[number]];
    expect(found).toContain(why);
    expect(at).toMatchObject({ file: expect.stringContaining('costs.test.ts') });
    expect(warnings(f)[0]).toContain(`costs.test.ts:${at!.line}:${at!.column} is traced for each`);
  });

  it('of nothing where one trace serves every length', () => {
    const cache: Tensor[] = [];
    const f = toStatic((x: Tensor) => {
      cache.push(x.exp());
      let sum = x;
      for (const each of cache) sum = sum.add(each).mul(2);
      return sum;
    });
    for (let i = 0; i < 6; i++) f(ones([1]));
    expect(f.stats().perLength).toBeUndefined();
    expect(warnings(f).filter((line) => line.includes('length of an array'))).toEqual([]);
  });

  it('of memory plans again', () => {
    const f = toStatic((x: Tensor) => x.mul(2).add(1).exp().sum());
    for (let n = 2; n < 20; n++) f(ones([n]));
    expect(warnings(f)).toEqual([expect.stringContaining('memory plans in 18 runs')]);
  });

  it('of work outside of subgraphs', () => {
    const f = toStatic((x: Tensor) => {
      // biome-ignore lint/security/noGlobalEval: what can't be captured is what this is about
      eval('x');
      return x.add(1).mul(2);
    });
    f(ones([4]));
    expect(warnings(f)).toEqual([
      expect.stringContaining('2 of 2 kernels ran outside of subgraphs'),
    ]);
  });

  it('of tiny subgraphs', () => {
    const f = toStatic((x: Tensor) => {
      const y = x.mul(2).add(1);
      breakGraph();
      return y.relu().sum();
    });
    for (let i = 0; i < 3; i++) f(ones([4]));
    expect(warnings(f)).toEqual([expect.stringContaining('fewer than 4 ops')]);
  });

  it('of slices', () => {
    using model = new nn.Sequential(new nn.Linear(16, 512), new nn.GELU(), new nn.Linear(512, 4));
    const f = toStatic(
      (x: Tensor) => {
        const loss = model.forward(x).square().mean();
        loss.backward();
        return loss;
      },
      { memory: { prefer: 'bytes' } },
    );
    for (let i = 0; i < 2; i++) f(ones([512, 16]));
    expect(warnings(f)).toEqual([expect.stringContaining('a few samples at a time')]);
  });

  it('of nothing where all is well, and where no subgraph has run', () => {
    const steady = toStatic((x: Tensor) => x.mul(2).add(1).exp().sum());
    for (let i = 0; i < 9; i++) steady(ones([4]));
    expect(warnings(steady)).toEqual([]);
    const empty = toStatic((x: Tensor) => {
      breakGraph();
      return x;
    });
    empty(ones([2]));
    expect(warnings(empty)).toEqual([]);
  });
});

it("the page has the user's functions, and no modules of this package", () => {
  const model = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU());
  const f = toStatic((x: Tensor) => model.forward(x));
  f(ones([1, 2]));
  const page = f.explain({ as: 'page' });
  const heading = /costs\.test\.ts:\d+:\d+$/;
  expect(page.match(/<h2>[^<]*/g)).toEqual([expect.stringMatching(heading)]);
  expect(page).toContain('permute, matmul, add, relu · #0');
});
