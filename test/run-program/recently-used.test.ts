import { describe, expect, it } from 'vitest';
import { RecentlyUsed } from '../../runtime/program/recently-used.ts';

const make = (table: RecentlyUsed<number, number>, key: number): boolean => {
  let made = false;
  table.get(key, () => {
    made = true;
    return key;
  });
  return made;
};

describe('programs/recently-used', () => {
  it('keeps as many entries as the limit says, the latest ones', () => {
    const table = new RecentlyUsed<number, number>(2);
    for (const key of [1, 2, 1, 3]) make(table, key);
    expect(table.values()).toEqual([1, 3]);
    expect(make(table, 1)).toBe(false);
    expect(make(table, 2)).toBe(true);
  });

  it('keeps entries up to a weight, and the last few whatever they weigh', () => {
    const table = new RecentlyUsed<number, number>(10, (value) => value, 2);
    for (const key of [4, 5, 6]) make(table, key);
    expect(table.values()).toEqual([5, 6]);
    for (const key of [1, 2, 3]) make(table, key);
    expect(table.values()).toEqual([1, 2, 3]);
    for (const key of [50, 60]) make(table, key);
    expect(table.values()).toEqual([50, 60]);
  });
});
