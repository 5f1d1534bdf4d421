import { type Code, i32, load, memoryLane, op } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { mulAdd } from './assembler/multiply-add.ts';
import { transposeFour } from './transpose-kernel.ts';

/**
 * Adds to `sums`, by groups of four `rows` and by columns, one entry after the other. A row's elements are adjacent and
 * transposed in registers. The columns of an entry are adjacent, too, and the next entry is `step` bytes further.
 * Changes `rows`, `columns` and `count`.
 */
export function sumRows(
  f: FunctionBuilder,
  rows: readonly Local[],
  columns: Local,
  step: Code,
  count: Local,
  sums: readonly (readonly Local[])[],
): void {
  const factor = f.local('v128');
  const groups = sums.map((own, g) => {
    return { own, from: rows.slice(g * 4, g * 4 + 4), values: f.locals('v128', 4) };
  });
  const addEntries = (entries: number): void => {
    for (let entry = 0; entry < entries; entry++) {
      for (const column of sums[0]!.keys()) {
        f.set(factor, load('v128.load32_splat', get(columns), column * 4));
        for (const { own, values } of groups) {
          const sum = own[column]!;
          f.set(sum, mulAdd(get(factor), get(values[entry]!), get(sum)));
        }
      }
      f.add(columns, step);
    }
  };
  f.countDown(count, 4, () => {
    for (const { from, values } of groups) {
      from.forEach((row, i) => {
        f.set(values[i]!, load('v128.load', get(row)));
        f.add(row, 16);
      });
      transposeFour(f, values).forEach((entry, i) => {
        f.set(values[i]!, entry);
      });
    }
    addEntries(4);
  });
  f.countDown(count, 1, () => {
    for (const { from, values } of groups) {
      const value = values[0]!;
      from.forEach((row, i) => {
        const at = get(row);
        const lanes = i > 0 ? memoryLane('v128.load32_lane', at, get(value), i) : null;
        f.set(value, lanes ?? load('v128.load32_zero', at));
        f.add(row, 4);
      });
    }
    addEntries(1);
  });
}

/** Whether a count exceeds a number. */
export const isMore = (count: Local, number: number): Code =>
  op('i32.gt_s', get(count), i32(number));

/** Sets the addresses of `count` rows; rows after the last one repeat it, and their sums are not stored. */
export function placeRows(
  f: FunctionBuilder,
  rows: readonly Local[],
  first: Local,
  step: Local,
  count: Local,
): void {
  let before = first;
  rows.forEach((row, i) => {
    const next = i === 0 ? get(first) : op('i32.add', get(before), get(step));
    f.set(row, op('select', next, get(before), isMore(count, i)));
    before = row;
  });
}
