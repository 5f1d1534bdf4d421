/** Paths that meet late or not at all: where the graph goes on, and what is left of it where it breaks. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';

type Fn = (x: Tensor, buffer: Tensor) => unknown;

/** What a call returns or throws, in text. */
function outcome(fn: Fn, values: readonly number[]): string {
  return tidy(() => {
    try {
      const found = fn(tensor([...values]), tensor([0.6, -1.1]));
      return JSON.stringify([found].flat().map((each) => (each as Tensor).dataSync?.() ?? each));
    } catch (error) {
      return String(error);
    }
  });
}

const data = [
  [1, 2],
  [-3, 1],
  [0, 0],
  [-5, -6],
  [8, 1],
  [1, 2],
];

const broken = [{ capture: 'auto', strict: true }, { strict: true }] as const;
const all = [{ fullGraph: true }, ...broken] as const;

/** One path stands at the end of the loop around, the other before code that both would come to. */
const staggered: Fn = (x, buffer) => {
  let [a, n] = [x, 0];
  const sign = Math.sign(x.sum().itemSync());
  if (sign === 0) for (const k of [2, 0, 1]) a = a.mul(k + 0.3);
  switch (sign) {
    case 0:
    case 1: {
      buffer.copy_(a);
      let i = 0;
      do {
        n = Math.trunc(a.max().itemSync()) % 7;
      } while ((++i < 2 && a.sum().itemSync() < 0) || n > 2);
      break;
    }
  }
  return [a, buffer, n];
};

/** Where the graph breaks, paths have merged before. As one program the loop is refused by its name. */
const takenBack: Fn = (x, buffer) => {
  let [i, n, m] = [0, 0, 1];
  while (m > 0) {
    if (++i > 2) break;
    try {
      n = Math.trunc(x.sum().itemSync()) % 7;
      if (n > 0) throw new TypeError(`of ${n}`);
    } catch {
      n = 0;
    } finally {
      m++;
    }
  }
  return [x.add(buffer), n, m];
};

/** Whatever the data decides, it throws. */
const throwing: Fn = (x) => {
  let mode = 'low';
  if (x.sum().itemSync() > 2) mode = 'high';
  if (mode === 'low') throw new RangeError(`${mode} values`);
  throw new TypeError(`${mode} values`);
};

describe('full-graph/paths-that-meet', () => {
  it.each([
    ['of which one waits at the end of a loop', staggered, all],
    ['in a try, before a decision that breaks', takenBack, broken],
    ['nowhere, since all throw', throwing, all],
  ])('paths %s', (_, fn, modes) => {
    for (const options of modes) {
      const graph = toStatic(fn, options);
      for (const values of data) expect(outcome(graph, values)).toBe(outcome(fn, values));
    }
  });

  it('a throw behind a decision is one translation, however many messages there are', () => {
    const graph = toStatic(throwing, { fullGraph: true });
    for (const values of data) outcome(graph, values);
    expect(graph.stats()).toMatchObject({ translations: 1, graphs: 1 });
  });
});
