/** Rows, text and timeline of a recording whose times are known. */

import { describe, expect, it } from 'vitest';
import { Profile } from '../../runtime/profiler/profile.ts';
import { sortKeys } from '../../runtime/profiler/profile-rows.ts';
import type { Span } from '../../runtime/profiler/recorder.ts';

type Given = Pick<Span, 'kind' | 'name' | 'start' | 'end'> & Partial<Span>;

const span = (given: Given): Span => ({
  device: given.kind === 'op' || given.kind === 'kernel' ? 'cpu' : 'host',
  at: undefined,
  bytes: 0,
  parent: -1,
  isAsync: false,
  allocated: 0,
  ...given,
});

/** Two slices, of which the first has its operand brought over; a program; a read nobody waits for. */
const profile = new Profile(
  [
    span({ kind: 'op', name: 'slice', start: 1, end: 5, allocated: 64 }),
    span({ kind: 'copy', name: 'MemcpySync:gpu->cpu', start: 2, end: 4, parent: 0, bytes: 4096 }),
    span({ kind: 'kernel', name: 'slice', start: 4, end: 4.5, parent: 0 }),
    span({ kind: 'program', name: 'run_program', start: 5, end: 9 }),
    span({ kind: 'op', name: 'slice', start: 6, end: 8, parent: 3, allocated: 128 }),
    span({ kind: 'kernel', name: 'slice', start: 6.5, end: 7.5, parent: 4 }),
    span({
      kind: 'copy',
      name: 'MemcpyAsync:gpu->host',
      start: 8,
      end: 10,
      bytes: 8,
      isAsync: true,
    }),
  ],
  10,
);

describe('profiler/report', () => {
  it('adds up totals and rows', () => {
    expect(profile.computation).toBe(1.5);
    expect(profile.copies).toEqual({
      sync: { calls: 1, bytes: 4096, total: 2 },
      async: { calls: 1, bytes: 8, total: 2 },
    });
    expect(profile.overhead).toBe(6.5);
    const [slice, program, read] = profile.rows();
    expect(slice).toMatchObject({ calls: 2, total: 6, self: 2.5, min: 2, max: 4, average: 3 });
    expect(slice).toMatchObject({ share: 0.6, allocated: 192 });
    expect(slice!.nested.map(({ kind, calls, total }) => [kind, calls, total])).toEqual([
      ['copy', 1, 2],
      ['kernel', 2, 1.5],
    ]);
    expect(program).toMatchObject({ total: 4, self: 2, allocated: 128 });
    expect(read).toMatchObject({ kind: 'copy', bytes: 8 });
  });

  it('counts the time of a name inside of itself once', () => {
    const nested = new Profile(
      [
        span({ kind: 'user', name: 'f', start: 0, end: 10 }),
        span({ kind: 'user', name: 'f', start: 2, end: 6, parent: 0, allocated: 64 }),
      ],
      10,
    );
    expect(nested.rows()).toMatchObject([
      { calls: 2, total: 10, self: 10, average: 7, allocated: 64 },
    ]);
  });

  it('sorts by each key', () => {
    for (const key of sortKeys) {
      const rows = profile.rows(key);
      const values = rows.map((row) => row[key]);
      const inOrder = values.toSorted((a, b) =>
        typeof a === 'string' ? a.localeCompare(String(b)) : Number(b) - Number(a),
      );
      if (key === 'name') expect([...values].sort()).toEqual(values);
      else expect(values).toEqual(inOrder);
    }
  });

  it('prints totals, copies and a table', () => {
    expect(profile.report({ limit: 2 }).split('\n')).toEqual([
      'place: cpu   unit: ms   sorted by: total',
      'total                      10.000  100.0 %',
      '  computation               1.500   15.0 %',
      '  copies (sync)             2.000   20.0 %  1 calls, 4096 bytes',
      '  framework and your code   6.500   65.0 %',
      'copies (async, beside it)   2.000   20.0 %     1 calls, 8 bytes',
      '',
      'event                               calls  total   self    min    max  average   ratio  allocated',
      'slice                                   2  6.000  2.500  2.000  4.000    3.000  60.0 %        192',
      '  MemcpySync:gpu->cpu (4096 bytes)      1  2.000  2.000  2.000  2.000    2.000  20.0 %          0',
      '  compute                               2  1.500  1.500  0.500  1.000    0.750  15.0 %          0',
      'run_program                             1  4.000  2.000  4.000  4.000    4.000  40.0 %        128',
      '… and 1 more rows',
    ]);
  });

  it('becomes a timeline, and plain data', () => {
    const { traceEvents } = profile.trace();
    expect(traceEvents.filter(({ ph }) => ph === 'M')).toHaveLength(2);
    expect(traceEvents.find(({ cat }) => cat === 'copy')).toMatchObject({
      ...{ ph: 'X', ts: 2000, dur: 2000 },
      args: { bytes: 4096 },
    });
    const read = traceEvents.filter(({ name }) => name === 'MemcpyAsync:gpu->host');
    expect(read.map(({ ph, ts }) => [ph, ts])).toEqual([
      ['b', 8000],
      ['e', 10_000],
    ]);
    expect(JSON.parse(JSON.stringify(profile))).toMatchObject({
      duration: 10,
      computation: 1.5,
      rows: [{ name: 'slice' }, { name: 'run_program' }, { name: 'MemcpyAsync:gpu->host' }],
    });
  });
});
