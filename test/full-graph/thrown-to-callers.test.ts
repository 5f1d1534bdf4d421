/** Exceptions that a called function throws on some paths, caught by its callers. */

import { describe, expect, it } from 'vitest';
import { noGrad, rand, seed, type Tensor } from '../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../trace/same-as-eager.ts';

const check = (t: Tensor): Tensor => {
  if (t.min().itemSync() < -0.5) throw new Error('low');
  return t;
};

const nested = (t: Tensor): Tensor =>
  t.sum().itemSync() > 0 ? check(t).add(1) : check(t.mul(0.5)).sub(1);

const inLoop = (t: Tensor): Tensor => {
  for (let i = 0; i < 4; i++) {
    if (t.sum().itemSync() < -1) throw new RangeError(`at ${i}`);
    t = t.sub(0.3);
  }
  return t;
};

const inWhile = (t: Tensor): Tensor => {
  let n = 0;
  while (t.sum().itemSync() > -1) {
    t = t.sub(0.3);
    if (t.max().itemSync() < 0.2) throw n;
    n++;
  }
  return t;
};

const logged = (t: Tensor, log: string[]): Tensor => {
  try {
    return check(t);
  } finally {
    log.push('finally');
  }
};

const wrapped = (t: Tensor): Tensor => {
  try {
    return check(t);
  } catch (cause) {
    throw new TypeError('outer', { cause });
  }
};

const recursive = (t: Tensor, depth: number): Tensor => {
  if (depth === 0) return check(t);
  try {
    return recursive(t.sub(0.2), depth - 1).mul(2);
  } catch (error) {
    if (depth < 2) throw error;
    return t.mul(depth);
  }
};

const messageOf = (error: unknown): string => (error as Error).message;

const cases: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'where nothing else is in the try': (x) => {
    try {
      return check(x);
    } catch (error) {
      return messageOf(error);
    }
  },
  'before other ops of the try': (x) => {
    try {
      return check(x).mul(2);
    } catch {
      return 1;
    }
  },
  'by a function that the handler calls again': (x) => {
    try {
      return check(x).mul(2);
    } catch (error) {
      return [messageOf(error), check(x.abs())];
    } finally {
      x.mul(2);
    }
  },
  'at either of two calls': (x) => {
    let y = x;
    try {
      y = check(y).mul(2);
      y = check(y.sub(0.3));
    } catch {
      y = y.add(7);
    }
    return y.mul(3);
  },
  'through a decision of another function': (x) => {
    try {
      return nested(x).mul(2);
    } catch (error) {
      return error;
    }
  },
  'out of an unrolled loop': (x) => {
    try {
      return inLoop(x).mul(2);
    } catch (error) {
      return messageOf(error);
    }
  },
  'out of a loop of the program': (x) => {
    try {
      return inWhile(x).mul(2);
    } catch (n) {
      return x.add(n as number);
    }
  },
  'past a finally': (x) => {
    const log: string[] = [];
    try {
      return [logged(x, log).mul(2), log];
    } catch (error) {
      log.push(messageOf(error));
      return log;
    }
  },
  'and thrown again as another': (x) => {
    try {
      return wrapped(x).mul(2);
    } catch (error) {
      return messageOf((error as Error).cause);
    }
  },
  'in a callback of an array': (x) =>
    [x, x.mul(2)].map((t) => {
      try {
        return check(t).mul(2);
      } catch {
        return t.abs();
      }
    }),
  'in a loop that goes on': (x) => {
    let [y, n] = [x, 0];
    for (let i = 0; i < 3; i++) {
      try {
        y = check(y).sub(0.3);
      } catch {
        n++;
        y = y.add(1);
      } finally {
        n += 10;
      }
    }
    return [n, y];
  },
  'in a loop of the program that goes on': (x) => {
    let y = x;
    while (y.sum().itemSync() < 4) {
      try {
        y = check(y).add(0.5);
      } catch {
        y = y.abs().add(1);
      }
    }
    return y;
  },
  'out of a generator': (x) => {
    function* terms() {
      yield x;
      yield check(x.mul(2));
    }
    let sum = x;
    try {
      for (const term of terms()) sum = sum.add(term);
    } catch {
      sum = sum.neg();
    }
    return sum;
  },
  'out of a recursion': (x) => recursive(x, 3),
};

describe.each([
  ['fullGraph', { fullGraph: true }],
  ["capture: 'auto'", { capture: 'auto' }],
] as const)('%s: an exception is caught by a caller', (_, options) => {
  it.each(Object.entries(cases))('%s', (_, fn) => {
    const args = (call: number) => [weights([3], call * 2)];
    const { graphs } = expectSameAsEager(() => ({ fn, args }), { calls: 4, ...options });
    expect(graphs).toBeGreaterThan(0);
  });
});

it('a call after whose return nothing is caught throws to the caller of the function', () => {
  const fn = (x: Tensor) => {
    check(x);
    try {
      return x.mul(2);
    } catch {
      return 1;
    }
  };
  const args = (call: number) => [weights([3], call * 2)];
  const { graphs, breaks } = expectSameAsEager(() => ({ fn, args }), { fullGraph: true, calls: 4 });
  expect([graphs, breaks]).toEqual([1, 0]);
});

it('what a function does before an op that always fails happens, whatever it is', () => {
  const effects: Record<string, (w: Tensor, log: unknown[]) => void> = {
    'a random number drawn': () => rand([2]),
    'a seed': () => seed(9),
    'a tensor disposed': (w) => w.dispose(),
    'a tensor frozen': (w) => w.requiresGrad_(false),
    'a gradient set': (w) => w.mul(w).sum().backward(),
    'a write': (w) => noGrad(() => w.add_(1)),
    'an element': (_w, log) => log.push(1),
  };
  for (const effect of Object.values(effects)) {
    const make = (): World => {
      const [w, log] = [weights([2, 3], 1), [] as unknown[]];
      const fn = (x: Tensor) => {
        effect(w, log);
        return x.reshape([5]);
      };
      return { fn, args: () => [values([2, 3])], state: () => [w, log, rand([1])] };
    };
    const around = <T>(body: () => T): T => {
      seed(3);
      return body();
    };
    for (const options of [{}, { fullGraph: true }, { capture: 'auto' }] as const) {
      expectSameAsEager(make, { ...options, calls: 1, around });
    }
  }
});
