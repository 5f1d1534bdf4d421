/** A table that is too wide for its terminal has a line for each column. */

import { expect, it } from 'vitest';
import { printTable } from '../../src/lab/compare/tables.ts';

const table = {
  head: ['mode', 'peak allocated', 'of eager', 'step (ms)'],
  rows: [
    ['eager', '2,176 B', '1.000', '0.83'],
    ['static', '1,728 B', '0.794', '0.21'],
  ],
};

const wide = `mode    peak allocated  of eager  step (ms)
──────  ──────────────  ────────  ─────────
eager          2,176 B     1.000       0.83
static         1,728 B     0.794       0.21`;

const turned = `mode              eager   static
──────────────  ───────  ───────
peak allocated  2,176 B  1,728 B
of eager          1.000    0.794
step (ms)          0.83     0.21`;

it('has a line for each row where that fits, or where nothing says how wide the terminal is', () => {
  expect(printTable(table)).toBe(wide);
  expect(printTable(table, 43)).toBe(wide);
});

it('is turned where only that fits', () => {
  expect(printTable(table, 42)).toBe(turned);
  expect(printTable(table, 32)).toBe(turned);
});

it('stays as it is where nothing fits', () => {
  expect(printTable(table, 31)).toBe(wide);
});
