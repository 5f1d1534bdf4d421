/** A result that is an argument, or another result, on some path is that same tensor also in a loaded program. */

import { describe, expect, it } from 'vitest';
import { load, memory, save, type Tensor, tensor, toStatic } from '../../src/index.ts';

type Fn = (x: Tensor, y: Tensor, n: Tensor) => unknown;

const functions: Record<string, Fn> = {
  'an argument, or not': (x, _y, n) => (n.itemSync() > 0 ? x : x.mul(2)),
  'one of two arguments': (x, y, n) => (n.itemSync() > 0 ? x : y),
  'an argument in an array': (x, y, n) => [n.itemSync() > 0 ? x : y.add(1), y],
  'an argument twice': (x, y, n) => {
    const t = n.itemSync() > 0 ? x : y.add(1);
    return { t, again: [t] };
  },
  'two results that are one': (x, y, n) => {
    const [a, b] = [x.mul(2), y.mul(3)];
    return [a, n.itemSync() > 0 ? a : b, b];
  },
  'what a loop starts with': (x, y, n) => {
    let t = x;
    for (let i = 0; i < n.itemSync(); i++) t = t.add(y);
    return t;
  },
  'an argument or nothing': (x, _y, n) => (n.itemSync() > 0 ? x : null),
  'an argument or another shape': (x, y, n) => (n.itemSync() > 0 ? x : y.sum()),
  'an argument of a nested branch': (x, y, n) => {
    if (n.itemSync() > 1) return [x, y];
    return n.itemSync() > 0 ? [y, x] : [x.add(y), y];
  },
  'elements of an array that grows': (x, y, n) => {
    const all: Tensor[] = [];
    for (let i = 0; i < n.itemSync(); i++) all.push(i > 0 ? x : y);
    return all;
  },
};

/** Tensors by which of the arguments, or of the tensors before, they are. */
function described(value: unknown, known: Tensor[]): unknown {
  if (value === null) return null;
  if (Array.isArray(value)) return value.map((each) => described(each, known));
  if (typeof value === 'object' && !('toArraySync' in value)) {
    return Object.entries(value).map(([key, each]) => [key, described(each, known)]);
  }
  const found = value as Tensor;
  const index = known.indexOf(found);
  if (index < 0) known.push(found);
  return [index, found.disposed ? 'disposed' : found.toArraySync()];
}

describe.each([{ fullGraph: true }, { capture: 'auto' }] as const)('%o', (options) => {
  it.each(Object.entries(functions))('%s', async (_, fn) => {
    const captured = toStatic(fn, options);
    const given = (n: number) => [tensor([1, 2]), tensor([3, 4]), tensor(n)] as const;
    captured(...given(1));
    const loaded = (await load(await save(captured))) as Fn;
    for (const n of [0, 1, 2, 0]) {
      const own = (call: Fn) => {
        const args = given(n);
        const known = [...args];
        const before = memory.stats('cpu').allocated;
        const result = described(call(...args), known);
        const alive = args.map(({ disposed }) => disposed);
        for (const each of known) each.dispose();
        return [result, alive, memory.stats('cpu').allocated - before];
      };
      // Eager execution leaves the values before the last iteration to the collector.
      expect(own(loaded).slice(0, 2)).toEqual(own(fn).slice(0, 2));
      expect(own(loaded)).toEqual(own(captured as Fn));
    }
    expect(captured.stats().breaks).toEqual([]);
  });
});
