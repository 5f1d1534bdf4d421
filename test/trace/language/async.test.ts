/** Async functions: `await` is a break, tracing goes on after it. Eager execution is the oracle. */

import { describe, expect, it } from 'vitest';
import { nn, type Tensor, toStatic } from '../../../src/index.ts';
import { values, weights } from '../same-as-eager.ts';

// biome-ignore lint/suspicious/noExplicitAny: any async function
type AsyncFunction = (...args: any[]) => Promise<unknown>;

async function settled(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await plain(await promise);
  } catch (error) {
    return [(error as Error).name, (error as Error).message.split('\n')[0]];
  }
}

async function plain(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(plain));
  if (typeof value !== 'object' || value === null || !('data' in value)) return value;
  return [...(await (value as Tensor).data())];
}

/** Calls both several times; the captured one's statistics. */
async function expectSame(fn: AsyncFunction, args: (call: number) => unknown[], calls = 3) {
  const captured = toStatic(fn, { fallback: 'error' });
  for (let call = 0; call < calls; call++) {
    const expected = await settled(fn(...args(call)));
    expect(await settled(captured(...args(call))), `call ${call}`).toEqual(expected);
  }
  return captured;
}

describe('a captured async function', () => {
  it('is traced before and after an await', async () => {
    const f = await expectSame(
      async (x: Tensor) => {
        const y = x.mul(2);
        const [first] = await y.data();
        if (first! > 0) return y.relu().add(1);
        return y.neg().mul(3);
      },
      (call) => [values([3], call)],
      6,
    );
    const { graphs, breaks, fallbacks } = f.stats();
    expect(graphs).toBe(3);
    expect(breaks.map(({ reason }) => reason)).toContain('await');
    expect(fallbacks).toEqual([]);
  });

  it('that awaits nothing is one graph', async () => {
    const f = await expectSame(
      async (x: Tensor) => x.mul(2).relu(),
      () => [values([3])],
    );
    expect([f.stats().graphs, f.stats().breaks]).toEqual([1, []]);
  });

  it('rejects with the errors of ops and of what it awaits', async () => {
    await expectSame(
      async (x: Tensor, fail: boolean) => {
        const y = x.mul(2);
        if (fail) await Promise.reject(new RangeError('no'));
        return y.matmul(x);
      },
      (call) => [values([2, 3]), call === 1],
    );
  });

  it('catches rejections and goes on tracing in the handler', async () => {
    const f = await expectSame(
      async (x: Tensor, wait: () => Promise<number>) => {
        let y = x.mul(2);
        try {
          y = y.add(await wait());
        } catch (e) {
          return [y.relu().neg(), (e as Error).message];
        } finally {
          y = y.mul(5);
        }
        return [y, ''];
      },
      (call) => [
        values([3]),
        async () => {
          if (call % 2) throw new Error('late');
          return 4;
        },
      ],
      4,
    );
    expect(f.stats().fallbacks).toEqual([]);
  });

  it('runs several calls at once without mixing them up', async () => {
    const log: string[] = [];
    const fn = async (x: Tensor, name: string) => {
      let y = x.mul(2);
      for (let i = 0; i < 3; i++) {
        await null;
        log.push(name + i);
        y = y.add(1).mul(i + 1);
      }
      return y.sum();
    };
    const together = (f: AsyncFunction) =>
      Promise.all(['a', 'b', 'c'].map((name, i) => settled(f(values([3], i), name))));
    const expected = await together(fn);
    const turns = log.splice(0);
    const captured = toStatic(fn, { fallback: 'error' });
    for (let call = 0; call < 2; call++) {
      expect(await together(captured)).toEqual(expected);
      expect(log.splice(0)).toEqual(turns);
    }
  });

  it('trains: gradients go through the graphs around an await', async () => {
    const layer = new nn.Linear(3, 2);
    const w = weights([3]);
    const fn = async (x: Tensor) => {
      const hidden = layer.forward(x.mul(w));
      await null;
      return hidden.relu().sum();
    };
    const gradientsOf = async (f: typeof fn): Promise<unknown> => {
      (await f(values([4, 3]))).backward();
      const all = await plain([w.grad, layer.weight.grad]);
      w.grad = null;
      layer.zeroGrad();
      return all;
    };
    const expected = await gradientsOf(fn);
    const captured = toStatic(fn);
    expect(await gradientsOf(captured)).toEqual(expected);
    expect(await gradientsOf(captured)).toEqual(expected);
    expect(captured.stats().graphs).toBe(2);
  });

  it('runs the calls of other async functions natively', async () => {
    const fn = async (x: Tensor) => {
      const double = async (t: Tensor) => t.mul(await Promise.resolve(2));
      const [a, b] = await Promise.all([double(x), double(x.neg())]);
      return a!.add(b!).relu();
    };
    await expectSame(fn, () => [values([3])]);
  });

  it('keeps its turn in the queue', async () => {
    const order = async (f: AsyncFunction): Promise<string[]> => {
      const log: string[] = [];
      const other = (async () => {
        for (let i = 0; i < 8; i++) {
          log.push(`turn ${i}`);
          await null;
        }
      })();
      await f(values([3]), log);
      log.push('done');
      await other;
      return log;
    };
    const fn = async (x: Tensor, log: string[]) => {
      log.push('start');
      const y = x.mul(await 2);
      log.push('middle');
      await Promise.resolve();
      log.push('end');
      return y;
    };
    const expected = await order(fn);
    const captured = toStatic(fn);
    expect(await order(captured)).toEqual(expected);
    expect(await order(captured)).toEqual(expected);
  });
});

describe('async functions that a captured one calls', () => {
  const scaled = async (x: Tensor, by: number) => x.mul(by).relu();
  class Model {
    readonly layer = new nn.Linear(3, 3);
    async forward(x: Tensor): Promise<Tensor> {
      return scaled(this.layer.forward(x), 2);
    }
  }
  const model = new Model();
  const log: unknown[] = [];
  const note = (name: string) => Promise.resolve().then(() => log.push(name));

  const cases: Readonly<Record<string, { fn: AsyncFunction; graphs: number; awaits: number }>> = {
    'are followed to their return': {
      fn: async (x: Tensor) => (await scaled(x, 2)).add(await scaled(x, 3)),
      graphs: 3,
      awaits: 2,
    },
    'all together': {
      fn: async (x: Tensor) => {
        const [a, b] = await Promise.all([scaled(x, 2), scaled(x, 3)]);
        return a.add(b);
      },
      graphs: 2,
      awaits: 1,
    },
    'what becomes of each': {
      fn: async (x: Tensor) => {
        const all = await Promise.allSettled([scaled(x, 2), x, 5]);
        return all.map((each) => each.status === 'fulfilled' && each.value);
      },
      graphs: 1,
      awaits: 1,
    },
    'the first one': {
      fn: async (x: Tensor) => {
        const first = await Promise.race([scaled(x, 2), scaled(x, 3)]);
        return first.add(await Promise.any([scaled(x, 4)]));
      },
      graphs: 3,
      awaits: 2,
    },
    'a method': { fn: async (x: Tensor) => (await model.forward(x)).add(1), graphs: 2, awaits: 1 },
    'an array of them, changed afterwards': {
      fn: async (x: Tensor) => {
        const started = [1, 2, 3].map(async (by) => x.mul(by));
        const all = Promise.all(started);
        started.length = 1;
        return (await all).map((each) => each.add(1));
      },
      graphs: 2,
      awaits: 1,
    },
    'promises in objects, awaited later': {
      fn: async (x: Tensor) => {
        const held = { first: scaled(x, 2), again: null as Promise<Tensor> | null };
        held.again = held.first;
        const isOne = held.first === held.again && held.first instanceof Promise;
        return [isOne, await held.first, await held.again];
      },
      graphs: 1,
      awaits: 2,
    },
    'in the order of the queue': {
      fn: async (x: Tensor) => {
        log.length = 0;
        const [p, q] = [scaled(x, 2), scaled(x, 3)];
        const both = Promise.all([q, p]);
        const one = Promise.all([p]);
        const early = await Promise.race([both.then(() => 'both'), one.then(() => 'one')]);
        await note('after');
        return [early, [...log]];
      },
      graphs: 1,
      awaits: 2,
    },
  };

  it.each(Object.entries(cases))('%s', async (_name, { fn, graphs, awaits }) => {
    const f = await expectSame(fn, (call) => [values([3], call)], 4);
    const { breaks, fallbacks, ...stats } = f.stats();
    expect(stats.graphs).toBe(graphs);
    expect(breaks.filter(({ reason }) => reason === 'await')).toHaveLength(awaits);
    expect(fallbacks).toEqual([]);
  });

  it('that wait, throw or return a thenable run natively', async () => {
    const waits = async (x: Tensor) => {
      await null;
      return x.mul(2);
    };
    const throws = async (x: Tensor) => {
      if (x.rank === 1) throw new RangeError('one dimension');
      return x;
    };
    // biome-ignore lint/suspicious/noThenProperty: under test
    const thenable = async (x: Tensor) => ({ then: (use: (y: Tensor) => void) => use(x.mul(3)) });
    const refused = async (x: Tensor) => x.matmul(x.reshape([3, 1]).add(x.narrow(0, 0, 2)));
    const f = await expectSame(
      async (x: Tensor) => {
        const results: unknown[] = [await waits(x), await thenable(x)];
        for (const each of [throws, refused]) {
          try {
            results.push(await each(x));
          } catch (error) {
            results.push((error as Error).name);
          }
        }
        return results;
      },
      (call) => [values([3], call)],
    );
    const details = f.stats().breaks.map(({ detail }) => detail);
    expect(details).toContain('waits is async and waits');
    expect(details).toContain('throws is async and throws');
  });
});
