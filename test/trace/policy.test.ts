import { afterEach, describe, expect, it, vi } from 'vitest';
import { InvariantError } from '../../runtime/errors/invariant.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import {
  ArgumentError,
  breakGraph,
  CaptureError,
  enableToStatic,
  ignoreModule,
  nn,
  notToStatic,
  ones,
  type Tensor,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { expectSameAsEager, weights } from './same-as-eager.ts';

describe('trace/policy', () => {
  afterEach(() => {
    enableToStatic(true);
    vi.unstubAllEnvs();
  });

  it('breakGraph() ends the graph in captured code and does nothing elsewhere', () => {
    const fn = (x: Tensor) => {
      const y = x.mul(2);
      breakGraph();
      return y.add(1);
    };
    const f = toStatic(fn);
    expect([...f(ones([2])).dataSync()]).toEqual([...fn(ones([2])).dataSync()]);
    expect(f.stats()).toMatchObject({ graphs: 2, breaks: [{ reason: 'forced' }] });
  });

  it('a function marked with notToStatic() runs natively, the graph goes on after it', () => {
    const seen: number[] = [];
    const inner = notToStatic((x: Tensor) => {
      seen.push(x.numel());
      return x.add(1);
    });
    const f = toStatic((x: Tensor) => inner(x.mul(2)).mul(3));
    expect([...f(ones([2])).dataSync()]).toEqual([9, 9]);
    expect(seen).toEqual([2]);
    expect(f.stats()).toMatchObject({ graphs: 2, breaks: [{ reason: 'not-to-static' }] });
  });

  it('toStatic() of a marked function runs it as it is, with a record, or refuses', () => {
    const marked = notToStatic((x: Tensor) => x.add(1));
    const f = toStatic(marked);
    expect(f(ones([1])).itemSync()).toBe(2);
    expect(f.stats()).toMatchObject({
      graphs: 0,
      fallbacks: [{ why: expect.stringContaining('notToStatic') }],
    });
    expect(() => toStatic(marked, { fallback: 'error' })(ones([1]))).toThrow(CaptureError);
  });

  it('enableToStatic(false) runs everything as ordinary JavaScript', () => {
    const model = toStatic(new nn.Linear(2, 2));
    const f = toStatic((x: Tensor) => model.forward(x).mul(2));
    enableToStatic(false);
    const plain = [...f(ones([1, 2])).dataSync()];
    expect(f.stats()).toMatchObject({ calls: 1, translations: 0, graphs: 0 });
    enableToStatic(true);
    expect([...f(ones([1, 2])).dataSync()]).toEqual(plain);
    expect(f.stats().graphs).toBe(1);
  });

  describe('minGraphSize', () => {
    const small = (x: Tensor) => x.mul(2).add(1);
    const programs: Readonly<Record<string, (x: Tensor) => Tensor>> = {
      'to the return': small,
      'around an if': (x) => (x.sum().itemSync() > 0 ? x.mul(2) : x.mul(3)),
      'in a loop': (x) => {
        for (let i = 0; i < 3; i++) {
          x = x.mul(2);
          breakGraph();
        }
        return x;
      },
      'around a call that breaks': (x) => {
        const inner = (y: Tensor) => {
          breakGraph();
          return y.add(1);
        };
        return inner(x.mul(2)).mul(3);
      },
      'around a catch': (x) => {
        try {
          x = x.add(1);
          breakGraph();
          throw new Error('mine');
        } catch (error) {
          return x.mul((error as Error).message.length);
        }
      },
    };

    for (const [name, fn] of Object.entries(programs)) {
      it(`${name}: nothing is compiled, and all is as it was`, () => {
        const { stats } = expectSameAsEager(() => ({ fn, args: () => [weights([3])] }), {
          minGraphSize: 10,
        });
        expect(stats.graphs).toBe(0);
        expect(stats.graphRuns).toBe(0);
        expect(stats.kernels.static).toBe(0);
        expect(stats.fallbacks).toEqual([]);
      });
    }

    it('a larger graph after a small one is compiled', () => {
      const { stats } = expectSameAsEager(
        () => ({
          fn: (x: Tensor) => {
            const y = x.mul(2);
            breakGraph();
            return y.add(1).mul(3).relu().sum();
          },
          args: () => [weights([3])],
        }),
        { minGraphSize: 3 },
      );
      expect(stats).toMatchObject({ graphs: 1, graphRuns: 3 });
    });

    it('comes from TOSTATIC_MIN_GRAPH_SIZE, and must be a number', () => {
      vi.stubEnv('TOSTATIC_MIN_GRAPH_SIZE', '5');
      const f = toStatic(small);
      f(ones([2]));
      expect(f.stats().graphs).toBe(0);
      expect(f.explain()).toContain('smaller than minGraphSize');
      vi.stubEnv('TOSTATIC_MIN_GRAPH_SIZE', 'many');
      expect(() => toStatic(small)).toThrow(ArgumentError);
      expect(() => toStatic(small, { minGraphSize: -1 })).toThrow(ArgumentError);
    });
  });

  it('a function that has no graph is skipped, whether it is traced or passed by natively', () => {
    const f = toStatic((x: string) => {
      const n = x.length;
      breakGraph();
      return `${n}${x}`;
    });
    for (let i = 0; i < 12; i++) expect(f('a'.repeat(i))).toBe(`${i}${'a'.repeat(i)}`);
    const { translations, fallbacks } = f.stats();
    expect(translations).toBeLessThan(10);
    expect(fallbacks).toMatchObject([{ why: expect.stringContaining('no tensor op') }]);
  });

  it('a loop that breaks into small segments goes on natively, counted and explained', () => {
    const fn = (x: Tensor, n: number) => {
      for (let i = 0; i < n; i++) {
        x = x.add(1);
        breakGraph();
      }
      return x;
    };
    const f = toStatic(fn);
    expect(f(zeros([1]), 20).itemSync()).toBe(20);
    expect(f.stats().fallbacks).toEqual([]);
    expect(f(zeros([1]), 200).itemSync()).toBe(200);
    expect(f.stats().fallbacks).toMatchObject([{ why: expect.stringContaining('64 times') }]);
    expect(f(zeros([1]), 200).itemSync()).toBe(200);
    expect(f.stats().kernels.eager).toBeGreaterThan(100);
    const refused = toStatic(fn, { fallback: 'error' });
    expect(() => refused(zeros([1]), 200)).toThrow(CaptureError);
  });

  it('so does a loop of an async function', async () => {
    const fn = async (x: Tensor, n: number) => {
      let total = 0;
      for (let i = 0; i < n; i++) {
        x = x.add(1);
        total += await x.item();
      }
      return total;
    };
    const f = toStatic(fn);
    expect(await f(zeros([1]), 20)).toBe(210);
    expect(f.stats().fallbacks).toEqual([]);
    const eagerBefore = f.stats().kernels.eager;
    // Two calls at a time don't disturb each other.
    const both = await Promise.all([f(zeros([1]), 200), f(ones([1]), 100)]);
    expect(both).toEqual([20_100, 5150]);
    expect(f.stats().fallbacks).toMatchObject([{ why: expect.stringContaining('64 times') }]);
    expect(f.stats().kernels.eager - eagerBefore).toBeGreaterThan(100);
    await expect(toStatic(fn, { fallback: 'error' })(zeros([1]), 200)).rejects.toThrow(
      CaptureError,
    );
  });

  it('ignoreModule() leaves the functions and classes of a module alone', async () => {
    const module = await import('./programs/ignored-module.ts');
    ignoreModule(module);
    const f = toStatic((x: Tensor) => new module.Doubler().double(module.addOne(x.mul(2))).mul(3));
    expect(f(ones([1])).itemSync()).toBe(18);
    const reasons = f.stats().breaks.map(({ reason }) => reason);
    expect(reasons).toContain('not-to-static');
  });

  it('ignoreModule() takes files and patterns', async () => {
    const other = await import('./programs/ignored-file.ts');
    ignoreModule(new URL('./programs/ignored-file.ts', import.meta.url));
    const f = toStatic((x: Tensor) => other.subOne(x.mul(2)).mul(3));
    expect(f(ones([1])).itemSync()).toBe(3);
    expect(f.stats().breaks).toMatchObject([{ reason: 'ignored-module' }]);
  });

  it("TOSTATIC_FALLBACK=error makes every fallback an error, unless an option says 'eager'", () => {
    vi.stubEnv('TOSTATIC_FALLBACK', 'error');
    const marked = notToStatic((x: Tensor) => x.add(1));
    expect(() => toStatic(marked)(ones([1]))).toThrow(CaptureError);
    expect(toStatic(marked, { fallback: 'eager' })(ones([1])).itemSync()).toBe(2);
    vi.stubEnv('TOSTATIC_FALLBACK', 'perhaps');
    expect(() => toStatic(marked)).toThrow(ArgumentError);
  });

  it('concurrent calls of one async function share entries and nothing else', async () => {
    const fn = async (x: Tensor, n: number) => {
      let y = x.mul(n);
      for (let i = 0; i < 3; i++) y = y.add(await y.sum().item());
      return y;
    };
    const f = toStatic(fn);
    const ns = [2, 3, 5, 7];
    const eager = await Promise.all(ns.map((n) => fn(ones([2]), n)));
    const captured = await Promise.all(ns.map((n) => f(ones([2]), n)));
    expect(captured.map((t) => [...t.dataSync()])).toEqual(eager.map((t) => [...t.dataSync()]));
    expect(f.stats().fallbacks).toEqual([]);
  });

  it('a mistake of tostatic itself is a fallback with a record; with strict it is thrown', () => {
    const spy = vi.spyOn(ProgramBuilder.prototype, 'finish').mockImplementation(() => {
      throw new InvariantError('this test breaks it');
    });
    try {
      const fn = (x: Tensor) => x.mul(2).add(1);
      const f = toStatic(fn, { check: 0 });
      expect([...f(ones([2])).dataSync()]).toEqual([3, 3]);
      expect(f.stats().fallbacks).toMatchObject([
        { why: expect.stringContaining('this test breaks it') },
      ]);
      expect(() => toStatic(fn, { strict: true, check: 0 })(ones([2]))).toThrow(InvariantError);
      expect(() => toStatic(fn, { fallback: 'error', check: 0 })(ones([2]))).toThrow(CaptureError);
    } finally {
      spy.mockRestore();
    }
  });

  it('TOSTATIC_DEVICE names the device that tensors are made on from the start', async () => {
    vi.stubEnv('TOSTATIC_DEVICE', 'meta');
    vi.resetModules();
    const fresh = await import('../../src/index.ts');
    expect(fresh.zeros([2]).device.name).toBe('meta');
    vi.stubEnv('TOSTATIC_DEVICE', '');
    vi.resetModules();
    const usual = await import('../../src/index.ts');
    expect(usual.zeros([2]).device.name).toBe('cpu');
  });
});
