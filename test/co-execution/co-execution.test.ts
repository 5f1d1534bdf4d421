import { afterEach, describe, expect, it, vi } from 'vitest';
import * as tostatic from '../../src/index.ts';
import { memory, ones, scopeOf, seed, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { withoutInspector } from '../plugin/load-module.ts';
import { expectSameAsEager, values, type World, weights } from '../trace/same-as-eager.ts';

afterEach(() => vi.restoreAllMocks());

// biome-ignore lint/suspicious/noExplicitAny: the constraint that every function type satisfies.
type AnyFunction = (this: any, ...args: any[]) => any;

/** A function that is refused: direct eval could change each of its variables. Around it stands tostatic. */
function refused(text: string, around = ''): AnyFunction {
  const make = new Function('T', `${around}; const refuse = (eval('0'), ${text}); return refuse;`);
  return make(tostatic) as AnyFunction;
}

interface Case {
  readonly fn: string;
  readonly around?: string;
  readonly world?: Partial<World>;
  readonly diverges?: boolean;
}

const cases: Readonly<Record<string, Case>> = {
  'values and gradients': {
    fn: '(x, w) => { const y = x.matmul(w).relu(); eval("y"); return y.mul(y).sum(); }',
    world: { args: (call) => [values([2, 3], call), weights([3, 4])] },
  },
  'backward inside': {
    fn: '(x, w) => { const l = x.matmul(w).tanh().sum(); eval("l"); l.backward(); return [l, w.grad]; }',
    world: { args: (call) => [values([2, 3], call), weights([3, 4], call)] },
  },
  'views, and writes through them': {
    fn: '(x) => { const v = x.reshape([4]); eval("v"); v.add_(1); x.t().mul_(2); return [v, x, x.narrow(0, 0, 1)]; }',
    world: { args: (call) => [values([2, 2], call)] },
  },
  'numbers that are read and decide': {
    fn: '(x) => { eval("x"); return x.sum().itemSync() > 0 ? x.mul(2).exp() : x.neg().sub(1); }',
    world: { args: (call) => [call % 2 === 0 ? values([3], call) : ones([3]).mul(call - 2.5)] },
    diverges: true,
  },
  'loops of other lengths': {
    fn: '(x, n) => { eval("n"); let y = x; for (let i = 0; i < n; i++) y = y.mul(1.5).add(i); return y.sum(); }',
    world: { args: (call) => [values([3], call), [3, 5, 1, 3, 5, 0][call]] },
    diverges: true,
  },
  'other sizes and dtypes': {
    fn: '(x) => { eval("x"); return x.mul(x).sum().add(1); }',
    world: { args: (call) => [call % 3 === 2 ? values([2, 2]).to('float64') : values([call + 1])] },
    diverges: true,
  },
  'random numbers, and tensors from nothing': {
    fn: '(x) => { eval("x"); return T.dropout(x, 0.5, true).add(T.randn([4])).mul(T.full([4], x.numel())); }',
    world: { args: (call) => [values([4], call)] },
  },
  'exceptions of ops, caught and not': {
    fn: '(x, bad) => { eval("x"); let r; try { r = x.matmul(bad); } catch (e) { r = e.message; } return [r, x.add(bad)]; }',
    world: { args: (call) => [values([2, 3], call), values(call === 1 ? [5, 5] : [3, 3])] },
  },
  'outer variables and objects': {
    fn: '(x) => { eval("x"); count++; log.push(count); kept = kept ? kept.add(x) : x.mul(1); return kept; }',
    around: 'let count = 0, kept; const log = []',
    world: { args: (call) => [values([2], call)] },
    diverges: true,
  },
  'a captured function inside': {
    fn: '(x) => { eval("x"); return inner(x.mul(2)).add(1); }',
    around: 'const inner = T.toStatic((y) => y.exp().sum())',
    world: { args: (call) => [values([3], call)] },
  },
  'itself, and another one': {
    fn: 'function again(x, n) { eval("n"); return n > 0 ? again(x.add(n), n - 1).mul(2) : other(x); }',
    around: 'const other = T.toStatic((y) => { eval("y"); return y.relu(); })',
    world: { args: (call) => [values([2], call), 2] },
  },
};

describe('co-execution is eager execution', () => {
  for (const [name, { fn, around, world, diverges = false }] of Object.entries(cases)) {
    it(name, () => {
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      const draws = (body: () => unknown, call: number) => {
        seed(call);
        return body();
      };
      const { stats } = expectSameAsEager(() => ({ fn: refused(fn, around), ...world }), {
        calls: 6,
        around: draws as never,
      });
      const { coExecution } = stats;
      expect(coExecution).toMatchObject({ runs: 6 });
      expect(coExecution!.matched).toBeGreaterThan(0);
      expect(coExecution!.divergences > 0).toBe(diverges);
      expect(stats.graphs).toBe(0);
    });
  }

  it('an exception leaves nothing behind', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const fn = toStatic(
      refused('(x) => { eval("x"); const y = x.mul(2); if (y) throw new Error("mine"); }'),
    );
    expect(() => tidy(() => fn(ones([2])))).toThrow('mine');
    expect(fn.stats().coExecution).toMatchObject({ runs: 1, recorded: 1 });
    ones([2]).mul(2).dispose();
    expect(fn.stats().coExecution).toMatchObject({ recorded: 1, matched: 0 });
  });

  it('bytes are those of eager execution, at the peak and at the end', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const text =
      '(x, w) => { eval("x"); let y = x; for (let i = 0; i < 4; i++) y = y.matmul(w).tanh(); return y.sum(); }';
    const peak = (fn: AnyFunction) => {
      const [x, w] = [values([8, 8]), values([8, 8])];
      memory.reset();
      const before = memory.stats().allocated;
      for (let i = 0; i < 3; i++) tidy(() => void fn(x, w));
      const { allocated, peakAllocated } = memory.stats();
      x.dispose();
      w.dispose();
      return [allocated - before, peakAllocated - before];
    };
    const eager = peak(refused(text));
    expect(peak(toStatic(refused(text)))).toEqual(eager);
    expect(eager[0]).toBe(0);
  });
});

describe('what is told of it', () => {
  it('ops on record and matched, in numbers and words', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const fn = toStatic(
      refused(
        '(x, more) => { eval("x"); const y = x.mul(2).t(); return more ? y.exp() : y.sum(); }',
      ),
    );
    const x = values([2, 3]);
    for (const more of [false, false, true, true, false]) fn(x, more);
    expect(fn.stats().coExecution).toEqual({
      runs: 5,
      recorded: 4,
      matched: 14 - 3,
      divergences: 1,
    });
    expect(fn.explain()).toContain(
      'co-execution: 4 ops on record, 11 matched in 5 runs, 1 run diverged',
    );
    expect(fn.stats().kernels).toMatchObject({ static: 0, eager: 10 });
    expect(JSON.parse(JSON.stringify(fn.stats()))).toEqual(fn.stats());
  });

  it('more kernels of one op than are remembered are bound once', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const sizes = Array.from({ length: 12 }, (_, i) => values([i + 1]));
    const fn = toStatic(refused('(xs) => { eval("xs"); return xs.map((x) => x.mul(x)); }'));
    fn(sizes);
    const { device } = sizes[0]!;
    const prepare = vi.spyOn(device, 'prepare');
    fn(sizes);
    expect(prepare).not.toHaveBeenCalled();
    refused('(xs) => { eval("xs"); return xs.map((x) => x.mul(x)); }')(sizes);
    expect(prepare.mock.calls.length).toBeGreaterThan(0);
  });

  it('one warning names the variables, the plugin and the option; an error where it is asked for', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    withoutInspector();
    const make = () =>
      new Function('offset', 'rate', 'return (x) => x.mul(rate).add(offset)')(1, 2);
    const fn = toStatic(make() as (x: Tensor) => Tensor);
    fn(ones([2]));
    fn(ones([2]));
    expect(warn).toHaveBeenCalledTimes(1);
    const [text] = warn.mock.calls[0] as [string];
    expect(text).toContain('rate, offset');
    expect(text).toContain('tostatic.vite()');
    expect(text).toContain('scope: { rate, offset }');
    expect(fn.stats().coExecution).toEqual({ runs: 2, recorded: 2, matched: 2, divergences: 0 });
    expect(scopeOf(make())).toMatchObject({ route: 'co-execution', names: ['rate', 'offset'] });
    expect(() => toStatic(make() as AnyFunction, { fallback: 'error' })(ones([2]))).toThrow(
      'rate, offset',
    );
  });
});
