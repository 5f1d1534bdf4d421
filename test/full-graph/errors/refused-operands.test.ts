/** Ops that refuse their operands: the error is thrown where eager execution throws it, and the user's code sees it. */

import { describe, expect, it } from 'vitest';
import { Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';

type Fn = (x: Tensor, log: unknown[]) => unknown;

const cases: Record<string, Fn> = {
  'a catch': (x) => {
    try {
      return x.reshape([7]);
    } catch {
      return x.mul(2);
    }
  },
  'a catch of what one path does': (x) => {
    let y = x;
    try {
      if (x.sum().itemSync() > 0) y = x.matmul(x.reshape([7, 1]));
      else y = x.mul(2);
    } catch (error) {
      y = x.mul((error as Error).name.length);
    }
    return y.add(1);
  },
  'a finally': (x, log) => {
    try {
      return x.sum().itemSync() > 0 ? [x.reshape([7]), 1] : [x.add(1), 2];
    } finally {
      log.push('done');
    }
  },
  'a catch around a call': (x) => {
    const inner = (y: Tensor) => (y.sum().itemSync() > 3 ? y.reshape([7]) : y.mul(2));
    try {
      return inner(x);
    } catch (error) {
      return [(error as Error).name, x.mul(3)];
    }
  },
  'a catch in a loop': (x, log) => {
    let n = 0;
    while (n < 5) {
      try {
        if (x.select(0, 0).itemSync() + n > 3) x.reshape([7]);
      } catch {
        log.push(n);
        return [n, x.mul(n)];
      }
      n++;
    }
    return [n, x];
  },
  'no catch, on one path': (x) => (x.sum().itemSync() > 0 ? x.reshape([7]) : x.mul(2)),
  'no catch, after effects': (x, log) => {
    log.push('before');
    x.add_(1);
    return x.reshape([7]);
  },
  'no catch, after another check': (x) => {
    if (x.sum().itemSync() > 0) x.reshape([7]);
    return x.matmul(x.reshape([1, 2])).add(x);
  },
};

function plain(value: unknown): unknown {
  if (value instanceof Tensor) return [...value.dataSync()];
  return Array.isArray(value) ? value.map(plain) : value;
}

function outcome(fn: Fn, data: readonly number[]): unknown {
  return tidy(() => {
    const x = tensor([...data]);
    const log: unknown[] = [];
    try {
      return plain([fn(x, log), x, log]);
    } catch (error) {
      const [what] = (error as Error).message.split('\n');
      return plain([(error as Error).name, what, x, log]);
    }
  });
}

describe('an op that refuses its operands', () => {
  it.each(Object.entries(cases))('with %s', (_, fn) => {
    for (const options of [{ fullGraph: true }, { capture: 'auto' }, {}] as const) {
      const captured = toStatic(fn, options);
      for (const data of [
        [1, 2],
        [-1, -2],
        [9, 9],
        [1, 2],
      ]) {
        expect({ options, found: outcome(captured, data) }).toEqual({
          options,
          found: outcome(fn, data),
        });
      }
    }
  });
});
