/** Pre-existing arrays that grow and shrink in branches and loops of a program, and pre-existing objects. */

import { describe, expect, it } from 'vitest';
import { memory, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
const starts = [
  [60, 70],
  [30, 40],
  [5, 9],
  [0.5, 0.25],
];
/** The tensor and an array of two numbers; no iteration, one, some, many. */
const numbers = starts.map((start) => () => [x(...start), [1, 2]]);
const tensors = starts.map((start) => () => {
  const y = x(...start);
  return [y, [tensor([1, 2]), y]];
});

describe('a pre-existing array', () => {
  it('gets elements in a loop', () => {
    const f = (x: Tensor, sums: number[]) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.push(y.sum().itemSync());
      }
      return [y, sums.length, sums];
    };
    sameAsEager(f, numbers);
  });

  it('gets elements in one branch', () => {
    const f = (x: Tensor, sums: number[]) => {
      if (x.sum().itemSync() > 20) sums.push(x.max().itemSync());
      else sums.push(1, 2);
      return sums.length;
    };
    sameAsEager(f, numbers);
  });

  it('gets elements in a branch, and then in a loop', () => {
    const f = (x: Tensor, sums: number[]) => {
      if (x.sum().itemSync() > 20) sums.push(x.max().itemSync());
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.push(y.sum().itemSync());
      }
      return y;
    };
    sameAsEager(f, numbers);
  });

  it('loses them in a branch', () => {
    const f = (x: Tensor, sums: number[]) => {
      let last = 7;
      if (x.sum().itemSync() > 20) last = sums.pop()!;
      return x.mul(last);
    };
    sameAsEager(f, numbers);
  });

  it('gets elements while it is walked', () => {
    const f = (x: Tensor, sums: number[]) => {
      let total = 0;
      for (const each of sums) {
        total += each;
        if (x.sum().itemSync() > total) sums.push(each + 1);
      }
      return total;
    };
    const graph = toStatic(f, { fullGraph: true });
    for (const start of [
      [5, 9],
      [0.5, 0.25],
    ]) {
      const [eager, full] = [
        [1, 2],
        [1, 2],
      ];
      tidy(() => expect(graph(tensor(start), full)).toBe(f(tensor(start), eager)));
      expect(full).toEqual(eager);
    }
    expect(graph.stats()).toMatchObject({ translations: 1, breaks: [] });
  });

  it('loses one in a branch, and is walked behind it', () => {
    const f = (x: Tensor, sums: number[]) => {
      if (x.sum().itemSync() > 20) sums.pop();
      let y = x;
      for (const each of sums) y = y.mul(each);
      return y;
    };
    sameAsEager(f, numbers);
  });

  it('loses and gets them in a loop, down to none', () => {
    const f = (x: Tensor, work: number[]) => {
      let turns = 0;
      let total = x;
      while (work.length > 0 && turns < 9) {
        const top = work.pop()!;
        total = total.add(top);
        if (total.sum().itemSync() < 20) work.push(top + 1, top + 2);
        turns++;
      }
      return [total, turns];
    };
    sameAsEager(f, [...numbers, () => [x(-500, 0), [1, 2]]], {
      exact: false,
      never: [
        ['no iteration', 'work.length > 0', 'the iteration itself asks whether there is one'],
        ['one iteration', 'work.length > 0', 'what is given holds numbers'],
        ['second branch', 'work.pop()!', 'there are so many'],
      ],
    });
  });

  it('is emptied and filled again', () => {
    const f = (x: Tensor, sums: number[]) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.length = 0;
        sums.push(y.max().itemSync(), 3);
      }
      return y;
    };
    sameAsEager(f, numbers);
  });

  it('of tensors keeps those that stay, with gradients', () => {
    const f = (x: Tensor, all: Tensor[]) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
        all[0] = all[0]!.add(1);
      }
      return all.at(-1)!.mul(3);
    };
    sameAsEager(f, tensors, {
      exact: false,
      never: [
        ['second branch', 'all[0]!', 'two are given'],
        ['second branch', 'all[0] = ', 'two are given'],
        ['second branch', 'all.at(-1)!', 'two are given'],
      ],
    });
    const graph = toStatic(f, { fullGraph: true });
    const [a, b, given] = [tensor([1, 2]), tensor([3, 4]), tensor([5, 9])];
    const all = [a, b];
    tidy(() => graph(given, all));
    expect(all[1] === b).toBe(true);
    expect(all[0] === a).toBe(false);
    expect(all.length).toBe(5);
  });

  it('is iterated afterwards, read at indices and by callbacks', () => {
    const f = (x: Tensor, sums: number[]) => {
      let y = x;
      while (y.sum().itemSync() < 60) {
        y = y.add(sums.length);
        sums.push(y.max().itemSync());
      }
      for (const each of sums) y = y.mul(each > 2 ? 0.5 : 2);
      return [y, sums[0], sums.at(-1), sums.map((each) => each * 2), sums.indexOf(3)];
    };
    sameAsEager(
      f,
      [...starts.slice(0, 3), [28, 29]].map((start) => () => [x(...start), [1, 2]]),
      {
        never: [
          ['no iteration', 'const each of sums', 'the iteration itself asks whether there is one'],
          ['one iteration', 'const each of sums', 'two are given'],
          ['no iteration', 'sums.map(', 'two are given'],
          ['one iteration', 'sums.map(', 'two are given'],
          ['second branch', 'sums.map(', 'no callback takes elements away'],
          ['no iteration', 'sums.indexOf(', 'the iteration itself asks whether there is one'],
          ['one iteration', 'sums.indexOf(', 'two are given'],
          ['second branch', 'sums.at(-1)', 'two are given'],
          ['second branch', 'sums[0]', 'two are given'],
        ],
      },
    );
  });

  it('gets objects', () => {
    const f = (x: Tensor, log: { sum: number; y: Tensor }[]) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        log.push({ sum: y.sum().itemSync(), y });
      }
      return y;
    };
    sameAsEager(
      f,
      starts.map((start) => () => [x(...start), []]),
    );
  });

  it('is a field of an object, and keeps its identity', () => {
    const f = (x: Tensor, state: { seen: number[]; count: number }) => {
      const { seen } = state;
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        seen.push(y.sum().itemSync());
        state.count++;
      }
      return state.seen === seen ? seen : null;
    };
    sameAsEager(
      f,
      starts.map((start) => () => [x(...start), { seen: [5], count: 0 }]),
    );
    const graph = toStatic(f, { fullGraph: true });
    const state = { seen: [5], count: 0 };
    const { seen } = state;
    expect(tidy(() => graph(tensor([5, 9]), state))).toBe(seen);
    expect(state).toEqual({ seen: [5, 28, 56, 112], count: 3 });
  });

  it('around the function grows with every call', () => {
    const make = () => {
      const seen: number[] = [];
      return {
        seen,
        f: (x: Tensor) => {
          let y = x;
          while (y.sum().itemSync() < 100) {
            y = y.mul(2);
            seen.push(y.sum().itemSync());
          }
          return y;
        },
      };
    };
    const [eager, full] = [make(), make()];
    const graph = toStatic(full.f, { fullGraph: true });
    const before = memory.stats('cpu').allocated;
    for (const start of [...starts, ...starts]) {
      const given = tensor(start);
      tidy(() => void eager.f(given));
      tidy(() => void graph(given));
      given.dispose();
      expect(full.seen).toEqual(eager.seen);
    }
    expect(graph.stats()).toMatchObject({ translations: 1, breaks: [] });
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('is left as it is where a check fails', () => {
    const f = (x: Tensor, sums: number[]) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.push(y.sum().itemSync());
        if (y.max().itemSync() > 90) throw new RangeError(`too large after ${sums.length}`);
      }
      return y;
    };
    sameAsEager(f, numbers);
  });
});

describe('a pre-existing object', () => {
  it('has fields that are the state of a loop (87)', () => {
    const f = (x: Tensor, state: { total: number; turns: number; last: Tensor | null }) => {
      while (state.total < 40) {
        state.total += x.sum().itemSync();
        state.turns++;
      }
      return state.total;
    };
    sameAsEager(
      f,
      [...starts, [10, 20]].map((start) => () => [x(...start), { total: 0, turns: 0, last: null }]),
      {
        never: [
          ['no iteration', 'state.total < 40', 'the iteration itself asks whether there is one'],
        ],
      },
    );
  });

  it('gets a key in one branch', () => {
    const f = (x: Tensor, found: { largest?: number }) => {
      if (x.sum().itemSync() > 20) found.largest = x.max().itemSync();
      return x;
    };
    sameAsEager(
      f,
      starts.map((start) => () => [x(...start), {}]),
    );
  });
});
