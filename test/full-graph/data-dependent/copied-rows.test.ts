/** Rows at a device scalar, and strided tensors in lists, are copies in a program: no write to them, or to what they show, is lost. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic, zeros } from '../../../src/index.ts';
import { type Fn, outcome } from '../outcome.ts';

interface World {
  readonly table: Tensor;
  readonly one: Tensor;
  readonly other: Tensor;
  row?: Tensor;
}

type Form = (world: World, n: number) => unknown;

const world = (): World => ({
  table: tensor([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ]),
  one: tensor([1]),
  other: tensor([10, 20, 30]),
});

const goesOn = ({ one }: World) => one.sum().itemSync() > 0;
const rowOf = ({ table, one }: World) => table.select(0, one.sum().itemSync());

/** Eager execution shows the write through the other tensor. */
const written: Record<string, Form> = {
  'a row': (w) => rowOf(w).add_(1),
  'a view of a row': (w) => rowOf(w).narrow(0, 0, 2).add_(1),
  'the table, detached': (w) => {
    const row = rowOf(w);
    w.table.detach().add_(1);
    return row;
  },
  'a row, in a loop inside': (w, n) => {
    for (let i = 0; i < n && goesOn(w); i++) {
      const row = w.table.select(0, i);
      for (let k = 0; k < 2 && goesOn(w); k++) row.mul_(2);
    }
  },
  'a row, in a branch': (w, n) => {
    for (let i = 0; i < n && goesOn(w); i++) {
      const row = w.table.select(0, i);
      if (row.sum().itemSync() > 6) row.mul_(2);
    }
  },
  'the table, in a branch': (w) => {
    const row = rowOf(w);
    if (goesOn(w)) w.table.add_(1);
    return row;
  },
  'the table, in a loop': (w, n) => {
    const row = rowOf(w);
    for (let i = 0; i < n && goesOn(w); i++) w.table.add_(1);
    return row;
  },
  'a row that leaves a branch': (w) => {
    let row = w.other;
    if (goesOn(w)) row = rowOf(w);
    row.add_(1);
  },
  'the table of a row that leaves a branch': (w) => {
    let row = w.other;
    if (goesOn(w)) row = rowOf(w);
    w.table.add_(1);
    return row;
  },
  'the table of a row that leaves a loop by an object': (w, n) => {
    for (let i = 0; i < n && goesOn(w); i++) w.row = w.table.select(0, i);
    w.table.add_(1);
  },
  'the row of the iteration before': (w, n) => {
    let row = w.other;
    for (let i = 0; i < n && goesOn(w); i++) {
      row.add_(1);
      row = w.table.select(0, i);
    }
    return row;
  },
  'the table of the row of the iteration before last': (w, n) => {
    let [last, before] = [w.other, w.other];
    let sum = zeros([3]);
    for (let i = 0; i < n && goesOn(w); i++) {
      w.table.add_(1);
      sum = sum.add(before);
      before = last;
      last = w.table.select(0, i);
    }
    return sum;
  },
  'what may be the table': (w) => {
    const either = goesOn(w) ? w.table : zeros([3, 3]);
    const row = rowOf(w);
    either.add_(1);
    return row;
  },
  'what may be a row': (w) => {
    const row = rowOf(w);
    const either = goesOn(w) ? row : zeros([3]);
    either.add_(1);
  },
  'rows in a list': (w, n) => {
    const rows: Tensor[] = [];
    for (let i = 0; i < n && goesOn(w); i++) rows.push(w.table.select(0, i));
    for (const row of rows) row.add_(1);
  },
  'the table of rows in a list': (w, n) => {
    const rows: Tensor[] = [];
    for (let i = 0; i < n && goesOn(w); i++) rows.push(w.table.select(0, i));
    w.table.add_(1);
    return rows;
  },
  'columns in a list': (w, n) => {
    const columns: Tensor[] = [];
    for (let i = 0; goesOn(w) && i < n; i++) columns.push(w.table.select(1, 1));
    for (const column of columns) column.add_(1);
  },
  'the table of columns in a list': (w, n) => {
    const columns: Tensor[] = [];
    for (let i = 0; goesOn(w) && i < n; i++) columns.push(w.table.select(1, 1));
    w.table.add_(1);
    return columns;
  },
  'a column in an array that became a list': (w, n) => {
    const rest = [w.table.select(1, 0), w.other];
    for (let i = 0; goesOn(w) && rest.length > 0 && i < n; i++) rest.pop()!.mul_(2);
  },
  'a column that was assigned to an element': (w, n) => {
    const all: Tensor[] = [];
    for (let i = 0; goesOn(w) && i < n; i++) {
      all.push(w.other.mul(2));
      all[0] = w.table.select(1, 0);
      all[0].add_(1);
    }
    return all.length;
  },
  'the table of some rows of its transpose': (w) => {
    const rows = w.table.t().slice(0, 0, w.one.sum().itemSync() + 1);
    w.table.add_(1);
    return rows;
  },
  'a gradient that a second backward adds to': (w) => {
    const leaf = w.table.clone().requiresGrad_();
    leaf.sum().backward();
    const row = leaf.grad!.select(0, w.one.sum().itemSync());
    leaf.mul(2).sum().backward();
    return row;
  },
};

/** The copies are read before the write, or are of other memory. */
const unseen: Record<string, Form> = {
  'the table before each read': (w, n) => {
    let sum = zeros([3]);
    for (let i = 0; i < n && goesOn(w); i++) {
      w.table.add_(1);
      sum = sum.add(w.table.select(0, i));
    }
    return sum;
  },
  'the table after the loop that read it': (w, n) => {
    let sum = zeros([3]);
    for (let i = 0; i < n && goesOn(w); i++) sum = sum.add(w.table.select(0, i));
    w.table.add_(1);
    return sum;
  },
  'what a row was in place of': (w) => {
    let state = w.other;
    if (goesOn(w)) state = rowOf(w);
    w.other.copy_(state);
  },
};

/** What two calls leave. */
function calls(fn: Fn): unknown {
  const own = world();
  return [2, 3].map((n) => outcome(fn, [own, n]));
}

describe('a write to', () => {
  for (const [name, form] of Object.entries(written)) {
    it(`${name} is seen with capture: 'auto', and by a full graph or rejected`, () => {
      const expected = calls(form);
      expect(calls(toStatic(form, { capture: 'auto', strict: true }))).toEqual(expected);
      const full = toStatic(form, { fullGraph: true });
      try {
        full(world(), 2);
      } catch (error) {
        expect((error as Error).message).toMatch(/rows were taken at a data-dependent index/);
        return;
      }
      expect(calls(full)).toEqual(expected);
    });
  }

  for (const [name, form] of Object.entries(unseen)) {
    it(`${name} is part of a full graph`, () => {
      const full = toStatic(form, { fullGraph: true });
      expect(calls(full)).toEqual(calls(form));
      expect(full.stats().breaks).toEqual([]);
    });
  }
});

it('a row at a graph break is a view, as eagerly', () => {
  const native = new Proxy((row: Tensor) => row.add_(1), {});
  const form: Form = (w) => {
    const row = rowOf(w);
    if (goesOn(w)) native(row);
    return w.table.sum();
  };
  expect(calls(toStatic(form, { capture: 'auto' }))).toEqual(calls(form));
});
