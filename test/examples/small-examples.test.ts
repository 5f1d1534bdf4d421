import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
});

async function printedBy(example: () => Promise<unknown>): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  await example();
  return log.mock.calls.map((line) => line.join(' ')).join('\n');
}

it('a step within a budget finds the same numbers in fewer bytes', async () => {
  const lines = /^(with.*): (\d+) KiB at the peak, (.*)$/gm;
  const printed = await printedBy(() => import('../../examples/memory-budget.ts'));
  const found = [...printed.matchAll(lines)];
  const [free, ...bounded] = found.map(([, name, peak, numbers]) => {
    return { budget: Number(/\d+/.exec(name!) ?? Infinity), peak: Number(peak), numbers };
  });
  expect(bounded.map(({ budget }) => budget)).toEqual([440, 330]);
  for (const { budget, peak, numbers } of bounded) {
    expect(peak).toBeLessThanOrEqual(budget);
    expect(free!.peak).toBeGreaterThan(budget);
    expect(numbers).toBe(free!.numbers);
  }
});

it('a kept loop is as long for any number of iterations, and finds the same', async () => {
  const lines = /^(\d+) turns, (.*): (\d+) ops\n {2}roots (.*), gradients/gm;
  const printed = await printedBy(() => import('../../examples/keep-loop.ts'));
  const found = [...printed.matchAll(lines)].map(([, ...parts]) => parts);
  const [few, many, fewKept, manyKept] = found;
  expect(Number(many![2])).toBe(10 * Number(few![2]));
  expect(manyKept![2]).toBe(fewKept![2]);
  expect([fewKept![3], manyKept![3]]).toEqual([few![3], many![3]]);
});

it('a kernel of your own trains in one graph per kind of step', async () => {
  const printed = await printedBy(() => import('../../examples/own-kernel.ts'));
  const losses = [...printed.matchAll(/loss (.*)/g)].map(([, loss]) => Number(loss));
  expect(losses).toHaveLength(5);
  expect(losses.at(-1)).toBeLessThan(losses[0]!);
  expect(printed).toContain('0 breaks, on cpu');
});
