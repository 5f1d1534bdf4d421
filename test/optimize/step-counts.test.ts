/** What one step of each work of the benchmarks takes, by counts that no machine's load changes. */

import { describe, expect, it } from 'vitest';
import { works } from '../../bench/works/works.ts';
import { events } from '../../runtime/memory/events.ts';
import { tidy, toStatic } from '../../src/index.ts';

/** Eager kernels; of a captured step kernels, allocations, copies to and from JavaScript, and guards; traces in all. */
type Counts = readonly [
  eager: number,
  kernels: number,
  allocations: number,
  copies: number,
  guards: number,
  traces: number,
];

const counts: Readonly<Record<string, Counts>> = {
  W1: [1, 1, 1, 0, 4, 1],
  W2: [96, 1, 1, 0, 5, 1],
  W3: [29, 16, 12, 0, 94, 2],
  W4f: [24, 6, 6, 0, 36, 1],
  W4: [78, 36, 38, 0, 154, 2],
  W5: [11, 6, 6, 0, 22, 2],
  W6: [13, 1, 1, 0, 7, 1],
  W7: [33, 20, 19, 0, 114, 2],
  W8: [131, 35, 42, 0, 90, 2],
  W10: [21, 9, 11, 0, 35, 2],
  W11: [57, 31, 21, 0, 98, 2],
  W12: [1800, 1, 0, 0, 1039, 1],
};

function counted(run: () => void): { kernels: number; allocations: number; copies: number } {
  let [kernels, allocations, copies] = [0, 0, 0];
  const stop = events.subscribe(({ kind }) => {
    if (kind === 'kernel') kernels++;
    if (kind === 'alloc') allocations++;
    if (kind === 'copy') copies++;
  });
  run();
  stop();
  return { kernels, allocations, copies };
}

describe('a captured step', () => {
  it.each(works('small'))('$name, $title', async ({ name, make }) => {
    const [eager, other] = [make(), make()];
    const captured = toStatic(other.step, { check: 0 });
    const steps = [
      () => void tidy(eager.step)?.dispose(),
      () => void captured()?.dispose(),
    ] as const;
    // Numbers that change from call to call are known as such from the second one.
    for (const step of steps) for (let i = 0; i < 2; i++) step();
    await captured.ready();
    const [first, found] = steps.map(counted) as [
      ReturnType<typeof counted>,
      ReturnType<typeof counted>,
    ];
    // Of the trace in force, the last one.
    const guards = [...captured.explain().matchAll(/(\d+) guards?/g)].at(-1)?.[1];
    const { kernels, allocations, copies } = found;
    const { translations } = captured.stats();
    const own = [first.kernels, kernels, allocations, copies, Number(guards), translations];
    expect(own).toEqual(counts[name]);
    expect(other.checksum()).toBe(eager.checksum());
  });
});
