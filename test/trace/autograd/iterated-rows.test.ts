/** A tensor's rows are selected when an iteration reaches them, which decides the order in which their gradients are added. */

import { describe, it } from 'vitest';
import { noGrad, type Tensor, type ToStaticOptions } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

type Fn = (x: Tensor, rows: Tensor) => unknown;

const cases: Readonly<Record<string, Fn>> = {
  'a loop in a loop': (x, rows) => {
    let a = x;
    for (const outer of rows) {
      a = a.add(outer).mul(0.6);
      for (const inner of rows) a = a.add(inner).mul(0.7);
      a = a.mul(0.3);
    }
    return a;
  },
  'one loop after another, and other reads between': (x, rows) => {
    let a = x;
    for (const row of rows) a = a.add(row.sin()).mul(rows.select(0, 1)).add(rows.mean(0));
    for (const row of rows) a = a.mul(row.cos()).add(rows.select(0, 2).tanh());
    return a.mul(rows.select(0, 0));
  },
  'a pattern, and the rest of it': (x, rows) => {
    const [first, ...others] = rows;
    let a = x.mul(first!).add(rows.mean(0));
    for (const other of others) a = a.mul(other).add(rows.select(0, 1).sin());
    return a;
  },
  'an iterator that is left and another one': (x, rows) => {
    let a = x;
    for (const row of rows) {
      a = a.add(row.mul(rows.select(0, 2)));
      if (a.shape[0] === 5) break;
    }
    for (const row of rows) a = a.mul(row.exp()).add(rows.sum(0)).tanh();
    return a;
  },
  'writes and rows without gradients between': (x, rows) => {
    let a = x.mul(1);
    for (const row of rows) {
      a.add_(row.sin());
      noGrad(() => {
        for (const other of rows) a.mul_(other);
      });
      a = a.mul(rows.select(0, 0).exp()).mul(1);
    }
    return a;
  },
  'a decision of the data': (x, rows) => {
    let a = x;
    for (const row of rows) {
      a = row.sum().itemSync() > 0 ? a.add(row).mul(rows.select(0, 1)) : a.mul(row.cos());
      for (const other of rows) a = a.add(other.mul(0.1)).mul(rows.mean(0).add(1));
    }
    return a;
  },
};

const modes: readonly ToStaticOptions[] = [{}, { fullGraph: true }];

describe('trace/iterated rows', () => {
  it.each(Object.entries(cases))('%s', (_name, fn) => {
    for (const options of modes) {
      const args = (call: number) => [values([5], call), weights([3, 5], call + 1)];
      expectSameAsEager(() => ({ fn, args }), { calls: 2, ...options });
    }
  });

  it('each number of rows', () => {
    const fn = (x: Tensor, rows: Tensor) => {
      let a = x;
      for (const row of rows) a = a.add(row).mul(0.6);
      return a;
    };
    for (const options of [{}, { dynamic: true }, { fullGraph: true, unrollLimit: 0 }] as const) {
      const args = (call: number) => [values([2]), weights([[3, 4, 6, 1, 0, 5][call]!, 2], call)];
      expectSameAsEager(() => ({ fn, args }), { calls: 6, ...options });
    }
  });
});
