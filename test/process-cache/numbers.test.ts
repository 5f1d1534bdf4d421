/** Traces for any number: the second function begins with another number than the first. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  cat,
  noGrad,
  randn,
  seed,
  type Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../src/node/index.ts';
import { describeValues } from '../trace/snapshot.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-cache-'));
  vi.stubEnv('TOSTATIC_CACHE', folder);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

type OfNumber = (x: Tensor, n: number) => unknown;

const functions: Readonly<Record<string, OfNumber>> = {
  'a row': (x, n) => x.select(0, n).add(1),
  'a row from the end': (x, n) => x.select(1, n - 4),
  'some columns': (x, n) => x.narrow(1, n, 2).mul(n),
  'views of views': (x, n) =>
    x
      .narrow(0, n, 2)
      .t()
      .select(0, n)
      .add(x.select(1, n + 1).sum()),
  'gradients of views': (x, n) => {
    const w = x.detach().requiresGrad_();
    cat([w.select(0, n), w.narrow(1, n, 1).squeeze(1)])
      .square()
      .sum()
      .backward();
    return w.grad;
  },
  'a write to a row': (x, n) => {
    noGrad(() => x.select(0, n).mul_(n + 1));
    return x.sum(0);
  },
  'numbers of an op': (x, n) =>
    x
      .mul(n)
      .clamp(-n, n + 1)
      .pow(n),
  'a row after a graph break': (x, n) => {
    const y = (x.sum().itemSync() as number) > 0 ? x : x.neg();
    return [y.select(0, n), y.narrow(1, n, 1).add(n)];
  },
  'rows of a loop with breaks': (x, n) => {
    let sum = x.select(1, 0);
    for (let i = 0; i < n; i++) {
      if ((sum.sum().itemSync() as number) > i) sum = sum.add(x.select(1, i));
      else sum = sum.mul(x.select(1, i + 1));
    }
    return sum;
  },
};

const orders = [
  [0, 1, 2, 3],
  [3, 1, 0, 2],
  [2, 3, 1, 0],
] as const;

it.each(Object.entries(functions))('%s', (_name, fn) => {
  const outcome = (call: OfNumber, order: readonly number[]) => {
    seed(4);
    const x = randn([6, 6]);
    return order.map((n) => describeValues([call(x, n), x]));
  };
  for (const options of [{}, { dynamic: true }] as ToStaticOptions[]) {
    const known = orders.map((order) => {
      const f = toStatic(fn, { strict: true, ...options });
      expect(outcome(f as OfNumber, order)).toEqual(outcome(fn, order));
      return f.stats().knownTraces ?? 0;
    });
    expect(Math.min(...known.slice(1))).toBeGreaterThan(0);
  }
});
