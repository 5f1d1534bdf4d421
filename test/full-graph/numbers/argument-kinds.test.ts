/** Numbers of the program and numbers that change as arguments of every function: what eager execution rejects is rejected with its error. */

import { describe, expect, it } from 'vitest';
import * as operators from '../../../runtime/ops/index.ts';
import { FullGraphError, seed, Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { shareOfDay } from '../../share-of-day.ts';

type Call = (x: Tensor, ...given: unknown[]) => unknown;

const start = () => tensor([0.5, 0.25, 0.75, 1], { shape: [2, 2] });

/** Functions, and methods that are none of them. */
const functions = new Map<string, Call>();
for (const [name, fn] of Object.entries(operators)) {
  if (typeof fn === 'function') functions.set(name, fn as unknown as Call);
}
for (const name of Object.getOwnPropertyNames(Tensor.prototype)) {
  const fn: unknown = Object.getOwnPropertyDescriptor(Tensor.prototype, name)!.value;
  if (typeof fn !== 'function' || functions.has(name) || name === 'constructor') continue;
  // Those return promises, or free what is compared.
  if (/^(array|data|item|toArray|to|dispose|gpu|cpu|backward)|Async$|Sync$/.test(name)) continue;
  functions.set(name, (x, ...given) => Reflect.apply(fn, x, given));
}

/** What each gets besides a tensor: of a number that is data-dependent, or that changes from call to call. */
const forms: Readonly<Record<string, (x: Tensor, n: number) => unknown[]>> = {
  'a number': (_x, n) => [n],
  'a boolean': (_x, n) => [n > 1.2],
  'a tensor and a number': (x, n) => [x.mul(2), n],
  'a number and a tensor': (x, n) => [n, x.mul(2)],
  'two numbers': (_x, n) => [n, n + 1],
  'two tensors and a number': (x, n) => [x.mul(2), x.mul(3), n],
};

/** Values, or the error that eager execution names. */
function outcome(fn: (x: Tensor, n: number) => unknown, n: number): string {
  const plain = (value: unknown): unknown => {
    if (value instanceof Tensor)
      return [value.dtype, value.shape, [...value.dataSync()].map(String)];
    return Array.isArray(value) ? value.map(plain) : String(value);
  };
  try {
    seed(4);
    return tidy(() => JSON.stringify(plain(fn(start(), n))));
  } catch (error) {
    if (error instanceof FullGraphError) return 'refused';
    return (error as Error).name;
  }
}

interface Kind {
  /** The number that is passed. */
  readonly of: (x: Tensor, n: number) => number;
  readonly options: { readonly fullGraph: true } | { readonly capture: 'auto' } | undefined;
}

const kinds: Readonly<Record<string, Kind>> = {
  'of a full graph': { of: (x) => x.sum().itemSync(), options: { fullGraph: true } },
  'of a graph with breaks': { of: (x) => x.sum().itemSync(), options: { capture: 'auto' } },
  'that change': { of: (_x, n) => n, options: undefined },
};

const all = Object.entries(forms);

/** All functions in each form, or each function in one. */
function callsOf(form: string, kind: string): [string, Call][] {
  const at = all.findIndex(([name]) => name === form);
  const isWhole = kind === 'of a full graph';
  return [...functions].filter((_, i) => isWhole || i % all.length === at);
}

describe.each(Object.keys(kinds))('full-graph/kinds of arguments: numbers %s', (name) => {
  const { of, options } = kinds[name]!;
  it.each(shareOfDay(all))('%s', { timeout: 120_000 }, (form, argumentsOf) => {
    const seen = { accepted: 0, rejected: 0, refused: 0 };
    const differences: string[] = [];
    for (const [called, call] of callsOf(form, name)) {
      const fn = (x: Tensor, n: number) => call(x.clone(), ...argumentsOf(x, of(x, n)));
      const graph = toStatic(fn, options ?? {});
      for (const n of options ? [1.5] : [1.5, 1, 2, 3]) {
        const expected = outcome(fn, n);
        const found = outcome(graph, n);
        if (found === 'refused') seen.refused++;
        else if (found !== expected) differences.push(`${called}: ${found}, eagerly ${expected}`);
        else if (/^\w*Error$/.test(found)) seen.rejected++;
        else seen.accepted++;
      }
    }
    expect(differences).toEqual([]);
    expect(Math.min(seen.accepted, seen.rejected)).toBeGreaterThan(20);
    expect(seen.refused > 0).toBe(name === 'of a full graph');
  });
});
