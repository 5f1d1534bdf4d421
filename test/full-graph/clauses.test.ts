/** What can be converted, form by form: values, gradients and writes as in eager execution, on every path. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { cat, stack, type Tensor, tensor } from '../../src/index.ts';
import type { Never } from './paths-taken.ts';
import { sameAsEager } from './suite.ts';

const leaf = (...values: number[]) => tensor(values).requiresGrad_();
const inputs = [
  () => [leaf(1.1, 2.3, -0.7)],
  () => [leaf(-1.7, 0.3, -0.9)],
  () => [leaf(3.1, -4.3, 0.2)],
  () => [leaf(0.6, 0.1, 7.3)],
  () => [leaf(9, 8, 7)],
  () => [leaf(1.2, 0.4, -0.1)],
  () => [leaf(0.6, -0.2, 0.3)],
  () => [leaf(0.2, 0.1, -0.1)],
  () => [leaf(0, 0, 0)],
];
const sum = (x: Tensor): number => x.sum().itemSync();

/** Paths that no data takes. */
const never: Record<string, Never[]> = {
  'an early return in a loop in a loop': [
    ['no iteration', '3; i++', 'the first iteration asks whether there is one'],
    ['no iteration', '2; k++', 'the first iteration asks whether there is one'],
  ],
  do: [['no iteration', 'h.mul(0.7)', 'there is a first iteration']],
  'variables, fields and elements that a loop carries': [
    ['no iteration', 'state.turns < 4', 'the first iteration asks whether there is a turn'],
  ],
  'push, pop and the length of an array; what is stacked, joined and indexed': [
    ['no iteration', 'all.length < 5', 'the first iteration asks whether there is one'],
    ['second branch', 'all.pop()', 'the array has an element'],
    ['second branch', 'all[all.length - 1]', 'the array has an element'],
    ['second branch', 'all[0]', 'the array has an element'],
  ],
  'try and finally, left by return, break and continue': [
    ['no iteration', '3; i++', 'the first iteration asks whether there is one'],
  ],
};

/** State of the module, which a call leaves to the next one. */
let calls = 0;
let last = 0.5;
const totals = { count: 0, list: [0, 0] };

type Fn = (x: Tensor) => unknown;

const forms: [string, Fn][] = [
  [
    'if, else if, else',
    (x) => {
      if (sum(x) > 5) return x.mul(0.3);
      else if (sum(x) > 0) return x.tanh();
      else return x.mul(x);
    },
  ],
  ['a ternary', (x) => x.mul(sum(x) > 0 ? x.sin() : 0.7)],
  ['&&', (x) => (sum(x) > 0 && x.max().itemSync() < 5 ? x.mul(1.3) : x.sin())],
  ['||', (x) => (sum(x) < 0 || x.max().itemSync() > 5 ? x.mul(1.3) : x.sin())],
  [
    '??',
    (x) => {
      let found: Tensor | null = null;
      if (sum(x) > 0) found = x.mul(0.9);
      return (found ?? x.sin()).mul(x);
    },
  ],
  [
    'an early return in a loop in a loop',
    (x) => {
      let h = x;
      for (let i = 0; i < 3; i++) {
        for (let k = 0; k < 2; k++) {
          h = h.mul(1.2).add(0.1);
          if (sum(h) > 6) return h.mul(i + k);
        }
        if (sum(h) < -3) return h.sin();
      }
      return h.add(x);
    },
  ],
  [
    'while',
    (x) => {
      let h = x;
      while (h.abs().max().itemSync() > 0.5) h = h.mul(0.6);
      return h.mul(x);
    },
  ],
  [
    'do',
    (x) => {
      let [h, n] = [x, 0];
      do {
        h = h.mul(0.7).add(x.mul(0.1));
        n++;
      } while (n < 5 && sum(h) > 1);
      return [h, n];
    },
  ],
  [
    'for',
    (x) => {
      let h = x.mul(0.3);
      for (let i = 0; i < x.abs().max().itemSync(); i += 2) h = h.mul(x).tanh().add(i);
      return h;
    },
  ],
  [
    'for…of over a tensor, with break and continue',
    (x) => {
      let total = x.select(0, 0).mul(0);
      for (const row of x) {
        if (row.itemSync() < 0) continue;
        total = total.add(row.mul(row));
        if (total.itemSync() > 4) break;
      }
      return total.mul(x);
    },
  ],
  [
    'for…of over a range, with labels',
    (x) => {
      let h = x;
      outer: for (const i of Array.from({ length: 3 }, (_, at) => at)) {
        for (const k of [0.3, 0.9]) {
          h = h.mul(k + 0.4).add(x.mul(i));
          if (sum(h) > 4) break outer;
          if (sum(h) < -2) continue outer;
        }
        h = h.sin();
      }
      return h;
    },
  ],
  [
    'for…of over an array of tensors',
    (x) => {
      let h = x;
      for (const each of [x.sin(), x.cos(), x.mul(x)]) {
        if (sum(each) < 0) continue;
        h = h.add(each).mul(0.8);
        if (sum(h) > 9) break;
      }
      return h;
    },
  ],
  [
    'a variable born in a branch',
    (x) => {
      let born: Tensor | undefined;
      let size: number | undefined;
      if (sum(x) > 0) {
        born = x.mul(0.4);
        size = sum(born);
      }
      return [born?.mul(x), size, born === undefined];
    },
  ],
  [
    'variables, fields and elements that a loop carries',
    (x) => {
      const state = { h: x, turns: 0, inner: { best: 0 } };
      const pair = [x.mul(0.5), x.mul(0.25)];
      let n = 0;
      while (state.turns < 4 && sum(state.h) < 8) {
        state.h = state.h.mul(1.3).add(pair[0]!);
        pair[0] = pair[1]!.sin();
        pair[1] = state.h.mul(0.1);
        state.inner.best = Math.max(state.inner.best, sum(state.h));
        state.turns++;
        n += state.turns;
      }
      return [state, pair, n];
    },
  ],
  [
    'state of the module',
    (x) => {
      calls++;
      let h = x;
      while (h.abs().max().itemSync() > 2) {
        h = h.mul(last);
        totals.count++;
        totals.list[1] = totals.list[1]! + sum(h);
      }
      if (sum(h) > 0) last = 0.4;
      else last = 0.6;
      const seen = [calls, last, totals.count, ...totals.list];
      // For the next one to begin as this one has.
      calls = 0;
      last = 0.5;
      totals.count = 0;
      totals.list[1] = 0;
      return [h, seen];
    },
  ],
  [
    'push, pop and the length of an array; what is stacked, joined and indexed',
    (x) => {
      const all: Tensor[] = [x];
      let h = x;
      while (all.length < 5 && sum(h) < 7) {
        h = h.mul(1.4).add(0.2);
        all.push(h);
        if (sum(h) < -2) all.pop();
        if (sum(h) < -4) break;
      }
      const indexed = all[all.length - 1]!.mul(all[0]!);
      return [stack(all).sum(0), cat(all).mean(), indexed, all.length];
    },
  ],
  [
    'recursion to a bounded depth',
    (x) => {
      const shrink = (y: Tensor, depth: number): Tensor =>
        depth < 4 && y.abs().max().itemSync() > 1 ? shrink(y.mul(0.6), depth + 1).add(y) : y.sin();
      return shrink(x, 0);
    },
  ],
  [
    'casts and arithmetic of numbers',
    (x) => {
      const n = sum(x);
      const whole = Math.trunc(n) + Number(n > 1) * 2 - Math.round(n / 3);
      const flag = Boolean(whole % 2);
      return [x.mul(n).add(whole), n ** 2 - (Math.abs(n) % 1), flag, flag ? x.sin() : x.cos()];
    },
  ],
  [
    'try and finally, left by return, break and continue',
    (x) => {
      let [h, ends] = [x, 0];
      for (let i = 0; i < 3; i++) {
        try {
          h = h.mul(1.3);
          if (sum(h) > 9) return [h.sin(), ends];
          if (sum(h) > 3) break;
          if (sum(h) < 0) continue;
          h = h.add(0.1);
        } finally {
          ends++;
          h = h.mul(0.9);
        }
      }
      return [h, ends];
    },
  ],
  [
    'checks that throw',
    (x) => {
      const y = x.mul(0.5);
      if (y.gt(2).any().itemSync()) throw new RangeError('too large');
      let h = y;
      while (sum(h) > 0.5) {
        h = h.mul(0.5);
        if (h.lt(-1.5).any().itemSync()) throw new TypeError(`too small: ${h.shape}`);
      }
      return h.mul(x);
    },
  ],
];

afterEach(() => vi.restoreAllMocks());

describe('full-graph/clauses', () => {
  it.each(forms)('%s', (name, fn) => {
    sameAsEager(fn, inputs, { never: never[name] ?? [] });
  });

  it('console.log', () => {
    const lines: unknown[][] = [];
    vi.spyOn(console, 'log').mockImplementation((...line) => lines.push(line));
    const fn = (x: Tensor) => {
      let h = x;
      console.log('start');
      while (sum(h) > 1) {
        h = h.mul(0.5);
        console.log('sum', sum(h), h.max().itemSync() > 1);
      }
      return h.mul(x);
    };
    sameAsEager(fn, [inputs[0]!, inputs[5]!, inputs[7]!]);
    const text = lines.map((line) => line.join()).join(';');
    const runs = text.split('start').map((run) => run.replace(/;$/, ''));
    runs.shift();
    const [eagerly, asProgram] = [0, 1].map((mode) => runs.filter((_, i) => i % 2 === mode));
    expect(asProgram).toEqual(eagerly);
    expect(eagerly!.map((run) => run.split('sum').length - 1)).toEqual([2, 1, 0, 2, 1, 0]);
  });

  it('decisions of the host stay with the host: no branch, and a guard', () => {
    const fn = (x: Tensor, mode: string, wide: boolean) => {
      let h = x.mul(0.3);
      if (mode === 'sin') h = h.sin();
      if (x.shape[0]! > 2 && wide) h = h.mul(x);
      for (let i = 0; i < x.shape.length; i++) h = h.add(i);
      return h;
    };
    const inputs = ['sin', 'cos'].map((mode) => () => [leaf(1.1, 2.3, -0.7), mode, mode === 'sin']);
    const { graph } = sameAsEager(fn, inputs, { translations: 2 });
    const names = graph
      .programs()
      .flatMap(({ stages }) => stages!.traced.ops.map(({ op }) => op.name));
    expect(names).not.toContain('cond');
    expect(names).not.toContain('while');
    expect(graph.explain()).not.toContain('decisions on graph values');
  });
});
