/** `Math.random()` and the clock: called by each run, in the order of the code. */

import { afterEach, describe, expect, test, vi } from 'vitest';
import { events } from '../../runtime/memory/events.ts';
import { numberCalls } from '../../runtime/ops/numbers/number-calls.ts';
import {
  cond,
  dropout,
  save,
  Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
  whileLoop,
} from '../../src/index.ts';
import { describeValues } from './snapshot.ts';

type Step = (x: Tensor, log: unknown[]) => unknown;

const modes: Readonly<Record<string, ToStaticOptions>> = {
  default: {},
  'capture auto': { capture: 'auto' },
  'full graph': { fullGraph: true },
  checked: { check: 3 },
  'full graph, checked': { fullGraph: true, check: 3 },
};

const calls = 12;

/** A stream that counts what was taken, as the numbers of a generator and as instants. */
function stream() {
  let state = 17;
  let time = 1000;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
  return { random, clock: () => time++ };
}

type Stream = ReturnType<typeof stream>;

/** Runs a function for some calls with this stream behind the native functions, as the language calls them. */
function eagerly(fn: Step, { random, clock }: Stream): unknown[] {
  vi.spyOn(Math, 'random').mockImplementation(random);
  vi.spyOn(Date, 'now').mockImplementation(clock);
  vi.spyOn(performance, 'now').mockImplementation(clock);
  const results = runAll(fn);
  vi.restoreAllMocks();
  return results;
}

/** The same for the functions as programs and entries call them. */
function captured(fn: Step, { random, clock }: Stream, options: ToStaticOptions) {
  vi.spyOn(numberCalls, 'Math.random').mockImplementation(random);
  vi.spyOn(numberCalls, 'Date.now').mockImplementation(clock);
  vi.spyOn(numberCalls, 'performance.now').mockImplementation(clock);
  const step = toStatic(fn, { strict: true, ...options });
  return { results: runAll(step), stats: step.stats() };
}

function runAll(fn: Step): unknown[] {
  return Array.from({ length: calls }, (_, i) => {
    const log: unknown[] = [];
    const x = tensor([1 + i, -2, 3]).requiresGrad_();
    const result = fn(x, log);
    if (result instanceof Tensor && result.requiresGrad) result.sum().backward();
    return describeValues([result, log, x.grad]);
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

/** Functions of which every mode makes one graph and no break. */
const whole: Readonly<Record<string, Step>> = {
  operand: (x) => x.mul(Math.random()),
  'several numbers, in their order': (x, log) => {
    const [a, b] = [Math.random(), Math.random()];
    log.push(b, a);
    return x.mul(a).add(b * 2 - 1);
  },
  'a number that only the result holds': (x) => ({ y: x.mul(2), r: Math.random() }),
  arithmetic: (x) => x.add(Math.floor(Math.random() * 10) / 10),
  'calls in a loop that is unrolled': (x) => {
    let y = x;
    for (let i = 0; i < 3; i++) y = y.add(Math.random());
    return y;
  },
  'a method that is taken out of Math': (x) => {
    const { random } = Math;
    return x.mul(random());
  },
  'calls in a function': (x) => {
    const noise = (scale: number) => (Math.random() - 0.5) * scale;
    return x.add(noise(2)).mul(noise(3));
  },
};

describe.each(Object.entries(modes))('%s', (_, options) => {
  test.each(Object.entries(whole))('%s', (_name, fn) => {
    const expected = eagerly(fn, stream());
    const { results, stats } = captured(fn, stream(), options);
    expect(results).toEqual(expected);
    expect(stats.breaks).toEqual([]);
    expect(stats.graphs).toBe(1);
  });

  test.each(Object.entries(deciding()))('%s', (_name, fn) => {
    const expected = eagerly(fn, stream());
    const { results, stats } = captured(fn, stream(), options);
    expect(results).toEqual(expected);
    if (options.fullGraph) expect(stats.graphs).toBe(1);
    expect(stats.fallbacks).toEqual([]);
  });
});

/** Functions that decide by the numbers. */
function deciding(): Readonly<Record<string, Step>> {
  return {
    'a branch': (x) => (Math.random() < 0.5 ? x.mul(2) : x.sub(1)),
    'layers that are left out': (x) => {
      let y = x;
      for (let i = 0; i < 4; i++) if (Math.random() < 0.7) y = y.mul(1.5).add(i);
      return y;
    },
    'a call in a branch': (x) => (x.sum().itemSync() > 5 ? x.mul(Math.random()) : x),
    'calls after one that decides': (x, log) => {
      const y = Math.random() < 0.5 ? x.mul(2) : x.sub(1);
      log.push(Math.random());
      return y.mul(Math.random());
    },
    'calls after one in a branch': (x, log) => {
      log.push(Math.random());
      const y = x.sum().itemSync() > 5 ? x.mul(Math.random()) : x;
      log.push(Math.random());
      return { y, last: Math.random() };
    },
    'a loop until a number is small': (x) => {
      let y = x;
      while (Math.random() > 0.3) y = y.add(Math.random());
      return y;
    },
    'a row of a table': (x) => x.mul([2, 3, 4][Math.floor(Math.random() * 3)]!),
    'one of some tensors': (x) => {
      const views = [x.mul(2), x.add(1), x.neg()];
      return views[Math.floor(Math.random() * 3)]!;
    },
    'a size': (x) => x.narrow(0, Math.floor(Math.random() * 2), 2).sum(),
    'a probability that is checked': (x) => dropout(x, Math.random() * 0).mul(2),
    'an exponent': (x) => x.abs().pow(1 + Math.random()),
    'cond and whileLoop': (x) => {
      const y = cond(
        x.sum().gt(4),
        (a) => a.mul(Math.random()),
        (a) => a,
        [x] as const,
      );
      const [last] = whileLoop(
        (z: Tensor) => z.sum().lt(20),
        (z) => [z.abs().add(Math.random())],
        [y],
      );
      return last;
    },
  };
}

describe('the clock', () => {
  const timed: Readonly<Record<string, Step>> = {
    'around a step': (x, log) => {
      const start = performance.now();
      const loss = x.mul(x).sum();
      loss.backward();
      log.push(performance.now() - start);
      return loss.detach();
    },
    'both clocks': (x, log) => {
      log.push(Date.now());
      const y = x.mul(2);
      return { y, took: Date.now(), at: performance.now() };
    },
    'as an operand': (x) => x.mul((Date.now() % 1000) / 1000),
  };

  test.each(Object.entries(timed))('%s: one graph', (_name, fn) => {
    for (const options of Object.values(modes)) {
      const expected = eagerly(fn, stream());
      const { results, stats } = captured(fn, stream(), options);
      expect(results).toEqual(expected);
      expect(stats.breaks).toEqual([]);
      expect(stats.graphs).toBe(1);
    }
  });

  test('a run reads it before the first op and behind the last one', () => {
    const order: string[] = [];
    const step = toStatic((x: Tensor, log: number[]) => {
      log.push(performance.now());
      const y = x.matmul(x).relu();
      log.push(performance.now());
      return y;
    });
    const x = tensor([1, 2, 3, 4], { shape: [2, 2] });
    step(x, []);
    vi.spyOn(numberCalls, 'performance.now').mockImplementation(() => order.push('time'));
    const stop = events.subscribe(() => {
      order.push('event');
    });
    step(x, []);
    stop();
    expect(order[0]).toBe('time');
    expect(order.at(-1)).toBe('time');
    expect(order.slice(1, -1)).toContain('event');
  });

  test('between two ops it ends the graph, or the program reads it', () => {
    const fn: Step = (x, log) => {
      const start = performance.now();
      const y = x.mul(2);
      const middle = performance.now();
      const z = y.exp();
      log.push(middle - start, performance.now() - middle);
      return z;
    };
    const apart = toStatic(fn, { strict: true });
    for (let i = 0; i < 3; i++) {
      const log: number[] = [];
      apart(tensor([1, 2, 3]), log);
      expect(log.every((time) => time >= 0)).toBe(true);
    }
    expect(apart.stats().breaks.map(({ reason }) => reason)).toEqual(['changing-call']);
    const expected = eagerly(fn, stream());
    const one = captured(fn, stream(), { fullGraph: true });
    expect(one.results).toEqual(expected);
    expect(one.stats.graphs).toBe(1);
  });

  test('a loop that ends at an instant', () => {
    const fn: Step = (x) => {
      const end = Date.now() + 5;
      let y = x;
      while (Date.now() < end) y = y.add(1);
      return y;
    };
    for (const options of Object.values(modes)) {
      const expected = eagerly(fn, stream());
      expect(captured(fn, stream(), options).results).toEqual(expected);
    }
  });
});

describe('replaced functions', () => {
  test('a function of the user in the place of Math.random is followed', () => {
    const run = (make: (fn: Step) => Step) => {
      vi.spyOn(Math, 'random');
      let state = 1;
      Math.random = () => {
        state = (state * 48271) % 2147483647;
        return state / 2147483647;
      };
      const results = runAll(make((x) => x.mul(Math.random()).add(Math.random())));
      vi.restoreAllMocks();
      return results;
    };
    const expected = run((fn) => fn);
    expect(run((fn) => toStatic(fn, { fullGraph: true }))).toEqual(expected);
  });

  test('is noticed by the next call', () => {
    const step = toStatic((x: Tensor) => x.mul(0).add(Math.random()), { fullGraph: true });
    const x = tensor([1]);
    const [a, b] = [step(x), step(x)];
    expect(a.itemSync()).not.toBe(b.itemSync());
    const before = Math.random;
    Math.random = () => 0.25;
    try {
      expect(step(x).itemSync()).toBe(0.25);
    } finally {
      Math.random = before;
    }
    expect(step(x).itemSync()).not.toBe(0.25);
  });
});

test('a program with such calls is not saved', async () => {
  const step = toStatic((x: Tensor) => x.mul(Math.random()));
  step(tensor([1]));
  await expect(save(step)).rejects.toThrow(/it calls Math.random\(\)/);
});
