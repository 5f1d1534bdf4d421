/**
 * Iterations that a graph break interrupts, over collections that the interrupted part has changed: the rest visits
 * what is left, in order.
 */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values } from '../same-as-eager.ts';

type Entries = Map<number, unknown> | Set<number> | number[];

const kinds: Record<string, () => Entries> = {
  Map: () => new Map<number, unknown>([1, 2, 3].map((key) => [key, 10 * key])),
  Set: () => new Set([1, 2, 3]),
  array: () => [1, 2, 3],
};

function put(entries: Entries, key: number): void {
  if (entries instanceof Map) entries.set(key, `put ${key}`);
  else if (entries instanceof Set) entries.add(key);
  else entries.push(key);
}

function drop(entries: Entries, key: number): void {
  if (Array.isArray(entries)) entries.splice(entries.indexOf(key), 1);
  else entries.delete(key);
}

function clear(entries: Entries): void {
  if (Array.isArray(entries)) entries.length = 0;
  else entries.clear();
}

/** What happens to the collection before the iteration, at its second element, and there after the break. */
const changes: Record<string, readonly ((e: Entries) => void)[]> = {
  'empty before': [
    (e) => {
      clear(e);
      put(e, 4);
      put(e, 5);
    },
    () => {},
  ],
  'added before': [(e) => put(e, 4), () => {}],
  'dropped before': [(e) => drop(e, 1), () => {}],
  'moved to the end before': [
    (e) => {
      drop(e, 1);
      put(e, 1);
    },
    () => {},
  ],
  'added meanwhile': [() => {}, (e) => put(e, 4)],
  'replaced meanwhile': [() => {}, (e) => put(e, 2)],
  'passed ones dropped': [() => {}, (e) => drop(e, 1)],
  'passed ones moved to the end': [
    () => {},
    (e) => {
      drop(e, 1);
      put(e, 1);
      drop(e, 2);
      put(e, 2);
    },
  ],
  'next one dropped': [() => {}, (e) => drop(e, 3)],
  'all dropped, later others added': [
    () => {},
    clear,
    (e) => {
      for (const key of [6, 7, 8, 9]) put(e, key);
    },
  ],
  'all exchanged': [
    () => {},
    (e) => {
      clear(e);
      put(e, 3);
      put(e, 7);
    },
  ],
};

const iterations: Record<string, (entries: Entries) => Iterable<unknown>> = {
  itself: (entries) => entries,
  'values()': (entries) => entries.values(),
  'entries()': (entries) => entries.entries(),
};

/** Where the collection comes from: of the three, only the last isn't known to the trace from its creation. */
const origins = ['made', 'made, then known to native code', 'outer'] as const;

describe.each(Object.keys(kinds))('an interrupted iteration over a %s', (kind) => {
  it.each(Object.keys(changes))('%s', (change) => {
    for (const origin of origins) {
      for (const iteration of Object.keys(iterations)) {
        const { breaks } = expectSameAsEager(() => {
          const seen: unknown[] = [];
          const native = seen.push.bind(seen) as (...values: unknown[]) => number;
          const outer = kinds[kind]!();
          return {
            fn: (x: Tensor) => {
              const entries = origin === 'outer' ? outer : kinds[kind]!();
              if (origin === 'made, then known to native code') native(entries);
              changes[change]![0]!(entries);
              const visited: unknown[] = [];
              for (const each of iterations[iteration]!(entries)) {
                visited.push(Array.isArray(each) ? [...each] : each);
                if (visited.length === 2) {
                  changes[change]![1]!(entries);
                  if (x.sum().itemSync() > 0) visited.push('positive');
                  changes[change]![2]?.(entries);
                }
                if (visited.length > 9) break;
              }
              return [x.add(visited.length), visited, [...entries]];
            },
            args: () => [values([3]).add(1)],
            state: () => [seen, [...outer]],
          };
        });
        expect(breaks).toBeGreaterThan(0);
      }
    }
  });
});

it('an interrupted iteration over arguments', () => {
  expectSameAsEager(() => ({
    fn: function fn(x: Tensor) {
      // biome-ignore lint/complexity/noArguments: what is tested
      const iterator = arguments[Symbol.iterator]();
      iterator.next();
      const positive = x.sum().itemSync() > 0;
      return [x.add(1), positive, [...iterator]];
    },
    args: () => [values([3]), 2, 'three'],
  }));
});
