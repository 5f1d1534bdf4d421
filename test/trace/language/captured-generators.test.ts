/** A generator function that is captured itself: its frames are traced from one `yield` to the next. */

import { describe, expect, it } from 'vitest';
import { memory, noGrad, ones, Tensor, toStatic } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

type Way = readonly ['next' | 'return' | 'throw', unknown?];

/** Everything that a generator answers to a list of requests. */
function answers(it: Generator, ways: readonly Way[]): unknown[] {
  return ways.map(([way, sent]) => {
    try {
      return it[way](sent as never);
    } catch (error) {
      return ['thrown', (error as Error).message];
    }
  });
}

const driven =
  (ways: readonly Way[]) =>
  (fn: (...args: never[]) => unknown) =>
  (...args: never[]): unknown =>
    answers(fn(...args) as Generator, ways);

function* powers(x: Tensor, count: number, log: unknown[] = []) {
  try {
    let power = x;
    for (let i = 0; i < count; i++) {
      const sent: Tensor | undefined = yield power;
      power = power.mul(x).add(sent ?? 1);
    }
    return power.sum();
  } catch (error) {
    yield x.neg();
    throw error;
  } finally {
    log.push('left');
  }
}

const next: Way = ['next'];

describe('a captured generator or async function that goes on natively', () => {
  const names = Array.from({ length: 12 }, (_, i) => 'n'.repeat(i + 1));

  it('yields what it yields', () => {
    const fn = function* (x: Tensor, name: string) {
      const got = (yield x.mul(name.length).sum().itemSync()) as unknown as string;
      yield `${got}${`${name}!`.length}`;
      return name;
    };
    const captured = toStatic(fn, { dynamic: false });
    const all = (make: typeof fn) =>
      names.map((name) => {
        const generator = make(ones([2]), name);
        return [generator.next(), generator.next('then' as never), generator.next()];
      });
    expect(all(captured as typeof fn)).toEqual(all(fn));
    expect(captured.stats().fallbacks).not.toEqual([]);
  });

  it('awaits what it awaits', async () => {
    const fn = async (x: Tensor, name: string) => {
      const first = await x.mul(name.length).sum().item();
      const text = await Promise.resolve(`${name}!`);
      return [first, text.length, await x.add(first).sum().item()];
    };
    const captured = toStatic(fn, { dynamic: false });
    for (const name of names) {
      expect(await captured(ones([2]), name)).toEqual(await fn(ones([2]), name));
    }
    expect(captured.stats().fallbacks).not.toEqual([]);
  });
});

describe('trace/captured-generators', () => {
  for (const [name, ways] of Object.entries<readonly Way[]>({
    'to the end and after it': [next, next, next, next, next, next],
    'with values': [next, ['next', values([2], 5)], ['next', values([2], 6)], next, next],
    'return at a yield': [next, next, ['return', values([2], 7)], next],
    'return before the start': [['return', 1], next],
    'throw at a yield': [next, next, ['throw', new Error('in')], next, next],
    'throw before the start': [['throw', new Error('early')], next],
  })) {
    it(`give what eager ones give: ${name}`, () => {
      expectSameAsEager(() => {
        const log: unknown[] = [];
        return {
          fn: powers as (...args: never[]) => unknown,
          args: () => [weights([2], 1), 3, log],
          install: driven(ways),
          state: () => log,
        };
      });
    });
  }

  it('run as programs, each once for all generators and turns', () => {
    const captured = toStatic(powers, { strict: true });
    const run = () => [...captured(weights([2], 1), 6)];
    run();
    run();
    const { translations } = captured.stats();
    run();
    const { graphs, fallbacks, breaks } = captured.stats();
    expect(captured.stats().translations).toBe(translations);
    expect(graphs).toBeGreaterThan(0);
    expect(fallbacks).toEqual([]);
    expect(breaks.map(({ reason }) => reason)).toContain('yield');
  });

  it('are generators of the original function', () => {
    const captured = toStatic(powers);
    const made = captured(values([2]), 1);
    expect(Object.getPrototypeOf(made)).toBe(powers.prototype);
    expect(made).toBeInstanceOf(captured);
    expect(Object.prototype.toString.call(made)).toBe('[object Generator]');
    expect(made[Symbol.iterator]()).toBe(made);
  });

  it('take their parameters when they are called, also where that throws', () => {
    const log: string[] = [];
    const captured = toStatic(function* ({ x }: { x: Tensor }, by = log.push('taken')) {
      log.push('begun');
      yield x.mul(by);
    });
    const made = captured({ x: values([2]) });
    expect(log).toEqual(['taken']);
    made.next();
    expect(log).toEqual(['taken', 'begun']);
    expect(() => captured(null as never)).toThrow(TypeError);
  });

  it('keep `this`, bound and as methods', () => {
    class Source {
      readonly by = 3;
      *each(x: Tensor) {
        yield x.mul(this.by);
      }
    }
    const source = new Source();
    const bound = toStatic(source.each.bind(source), { strict: true });
    const method = toStatic(Source.prototype.each, { strict: true });
    const first = (made: Generator<Tensor>) => [...(made.next().value as Tensor).dataSync()];
    const expected = first(source.each(values([2])));
    expect(first(bound(values([2])))).toEqual(expected);
    expect(first(method.call(source, values([2])))).toEqual(expected);
    expect(Object.getPrototypeOf(bound(values([2])))).toBe(Source.prototype.each.prototype);
  });

  it('several at once keep their places', () => {
    const captured = toStatic(powers, { strict: true });
    const interleaved = (make: typeof powers) => {
      const [a, b] = [make(values([2], 1), 4), make(values([2], 2), 4)];
      const seen: number[][] = [];
      for (const it of [a, b, b, a, b, a, a, b]) {
        seen.push([...(it.next().value as Tensor).dataSync()]);
      }
      return seen;
    };
    expect(interleaved(captured)).toEqual(interleaved(powers));
  });

  it('delegate to others', () => {
    expectSameAsEager(() => ({
      fn: function* (x: Tensor): Generator<Tensor, Tensor, Tensor | undefined> {
        const last = yield* powers(x.mul(2), 2);
        yield last.add(1);
        yield* [x.neg(), x.abs()];
        return last;
      },
      args: () => [weights([2], 1)],
      install: driven([next, next, next, next, next, next, next]),
    }));
  });

  it('give back what only they held, at the end and when they are told to return', () => {
    const captured = toStatic(
      function* (x: Tensor) {
        let power = x.relu();
        for (let i = 0; i < 4; i++) {
          power = power.mul(x).add(1);
          yield power.sum();
        }
      },
      { strict: true },
    );
    noGrad(() => {
      const x = values([1024], 1);
      const run = (turns: number) => {
        const made = captured(x);
        for (let i = 0; i < turns; i++) made.next().value?.dispose();
        made.return();
      };
      run(5);
      const start = memory.stats('cpu').allocated;
      for (const turns of [5, 3, 0]) {
        run(turns);
        expect(memory.stats('cpu').allocated, `${turns} turns`).toBe(start);
      }
      x.dispose();
    });
  });

  it('asynchronous ones wait and yield in the same turns', async () => {
    async function* stream(x: Tensor, log: unknown[]) {
      try {
        for (let i = 1; i < 4; i++) {
          const scaled = x.mul(i).add(1);
          log.push(await i);
          const sent: number = yield scaled.relu();
          log.push(sent);
        }
        return Promise.resolve(x.sum());
      } finally {
        log.push('left', await 'later');
      }
    }
    const observe = async (make: typeof stream) => {
      const log: unknown[] = [];
      const ticks = (async () => {
        for (let i = 0; i < 20; i++) {
          log.push('tick');
          await null;
        }
      })();
      const it = make(values([2], 1), log);
      const first = await Promise.all([it.next(), it.next(7), it.next(8), it.next(9), it.next()]);
      const second = make(values([2], 2), log);
      await second.next();
      const returned = await second.return(Promise.resolve(5) as never);
      await ticks;
      const show = ({ value, done }: IteratorResult<unknown>) => [
        value instanceof Tensor ? [...value.dataSync()] : value,
        done,
      ];
      return [log, first.map(show), show(returned)];
    };
    const captured = toStatic(stream, { strict: true });
    const expected = await observe(stream);
    for (let call = 0; call < 3; call++) expect(await observe(captured)).toEqual(expected);
    expect(captured.stats().graphs).toBeGreaterThan(0);
  });

  it('are eager while capturing is off, and go on so', () => {
    const captured = toStatic(powers, { strict: true });
    expect([...captured(values([2]), 2)]).toHaveLength(2);
    const inside = toStatic((x: Tensor) => [...captured(x, 2)].length, { strict: true });
    expect(inside(values([2]))).toBe(2);
  });
});
