import { existsSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';
import { shareOfDay } from '../share-of-day.ts';
import { dividedFiles } from '../tests-of-day.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const cases = Array.from({ length: 20 }, (_, i) => i);

it.each([0, 1, 2])('four days take each case once, from %i on', (from) => {
  const days = ['0', '1', '2', '3'].map((part) => {
    vi.stubEnv('TEST_PART', part);
    return shareOfDay(cases, from);
  });
  for (const day of days) expect(day.length).toBe(5);
  expect(days.flat().sort((a, b) => a - b)).toEqual(cases);
});

it('a run that no day divides takes all', () => {
  vi.stubEnv('TEST_PART', undefined);
  expect(shareOfDay(cases, 1)).toEqual(cases);
});

it('the files whose tests are divided are there', () => {
  const missing = dividedFiles.filter(
    (path) => !existsSync(new URL(`../..${path}`, import.meta.url)),
  );
  expect(missing).toEqual([]);
});
