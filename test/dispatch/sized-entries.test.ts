/** A trace replayed for several sizes, and one whose replay fails and which is guarded by its own sizes. */

import { describe, expect, it } from 'vitest';
import { SizedEntries, withOwnSizes } from '../../src/dispatch/sized-entries.ts';
import { type Guard, GuardSet } from '../../src/guards/guard.ts';
import type { Source } from '../../src/guards/source.ts';
import type { Resized, TraceResult } from '../../src/traces/trace-result.ts';
import type { Frame } from '../../src/vm/bytecode/frame.ts';

const list: Source = { kind: 'argument', frame: 0, index: 0 };
const length: Source = { kind: 'property', base: list, key: 'length' };
const typed: Guard = { kind: 'typeof', source: list, type: 'object' };

const called = (...args: unknown[]) => [{ args }] as unknown as Frame[];

/** A trace that fits no sizes again, not even its own. */
const stuck: Resized = {
  keys: [length],
  guards: [typed],
  at: () => null,
  atSizes: () => null,
  numbers: () => [],
};

const traced = (resized: Resized | null) =>
  ({ guards: [typed], resized }) as unknown as TraceResult;

describe('a trace that cannot be replayed for its own sizes', () => {
  it('has no entry for them', () => {
    const names = { codes: [], pcs: [] };
    const compile = () => expect.unreachable('nothing is compiled');
    const sized = new SizedEntries(stuck, names, compile, false);
    expect(sized.find(called([1, 2]))).toBeUndefined();
    expect(sized.compiled).toEqual([]);
  });

  it('is guarded by them', () => {
    const { guards } = withOwnSizes(traced(stuck), called([1, 2]));
    const set = new GuardSet(guards);
    expect(set.holds(called([3, 4]))).toBe(true);
    expect(set.holds(called([3]))).toBe(false);
    expect(set.holds(called([3, 4, 5]))).toBe(false);
  });

  it('needs no guards beside its own if it has no sizes', () => {
    expect(withOwnSizes(traced(null), called([])).guards).toEqual([typed]);
  });
});
