/** Arrays that grow and shrink in branches and loops of the program. */

import { describe, it } from 'vitest';
import { cat, stack, type Tensor, tensor } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
/** No iteration, one, some, many. */
const inputs = [() => [x(60, 70)], () => [x(30, 40)], () => [x(5, 9)], () => [x(0.5, 0.25)]];

describe('push and pop', () => {
  it('push in a branch, stack and concat after it (90)', () => {
    const f = (x: Tensor) => {
      const all = [x, x.mul(2)];
      if (x.sum().itemSync() > 20) all.push(x.mul(3));
      else all.push(x.mul(4), x.mul(5));
      return { rows: stack(all), flat: cat(all), all, count: all.length };
    };
    const g = (x: Tensor) => {
      const all = [x];
      if (x.sum().itemSync() > 20) all.push(x.mul(3));
      else all.push(x.mul(4));
      return { rows: stack(all), mean: cat(all).mean(), last: all.pop()!.sum(), all };
    };
    sameAsEager(g, inputs, { exact: false });
    // Results of two shapes.
    sameAsEager(f, inputs, { exact: false });
  });

  it('push in for and while, stack and concat after it (90)', () => {
    const f = (x: Tensor, n: Tensor) => {
      const sums: Tensor[] = [];
      for (let i = 0; i < n.itemSync(); i++) sums.push(x.mul(i + 1));
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.push(y);
      }
      return { rows: stack([x, ...sums]), flat: cat([x, ...sums]), sums };
    };
    const counted = inputs.flatMap((make) => [0, 1, 3].map((n) => () => [...make(), tensor([n])]));
    sameAsEager(f, counted, { exact: false });
  });

  it('pop in a branch (90)', () => {
    const f = (x: Tensor) => {
      const all = [x, x.mul(2), x.mul(3)];
      let total = x.mul(0);
      if (x.sum().itemSync() > 20) total = total.add(all.pop()!);
      else total = total.sub(all.pop()!).sub(all.pop()!);
      return [total, all.length, all];
    };
    sameAsEager(f, inputs, { exact: false });
  });

  it('pop in for and in while (90)', () => {
    const f = (x: Tensor) => {
      const all = [x, x.mul(2), x.mul(3), x.mul(4)];
      let total = x.mul(0);
      for (let i = 0; i < x.argmax().itemSync(); i++) total = total.add(all.pop()!.mul(i + 2));
      while (all.length > 0 && total.sum().itemSync() < 100) total = total.add(all.pop()!);
      return [total, all.length, all];
    };
    sameAsEager(
      f,
      [
        () => [x(60, 1, 2)],
        () => [x(1, 60, 3)],
        () => [x(3, 1, 2)],
        () => [x(1, 2, 50)],
        () => [x(1, 2, 3)],
      ],
      {
        exact: false,
        never: [
          ['no iteration', 'all.length > 0', 'the iteration itself asks whether there is one'],
          ['second branch', 'all.pop()!', 'there are so many'],
        ],
      },
    );
  });
});

describe('an array that grows in a loop of the program', () => {
  it('is an ordinary array for the caller', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      return all;
    };
    sameAsEager(f, inputs);
  });

  it('has a length, which is a number of the program', () => {
    const f = (x: Tensor) => {
      const all = [x];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2).add(1);
        if (all.push(y) > 4) break;
      }
      return [all.length, all.length > 2 ? y.mul(3) : y, x.mul(all.length)];
    };
    sameAsEager(f, inputs, {
      never: [['no iteration', 'y.sum()', 'the iteration itself asks whether there is one']],
    });
  });

  it('of numbers and truth values', () => {
    const f = (x: Tensor) => {
      const sums: number[] = [];
      const large: boolean[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        sums.push(y.sum().itemSync(), 7);
        large.push(y.max().itemSync() > 20);
      }
      return [sums, large];
    };
    sameAsEager(f, inputs);
  });

  it('is read at host indices, from its end and at numbers of the program', () => {
    const f = (x: Tensor) => {
      const all = [x];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      const i = x.argmax().itemSync();
      return [all[0]!.mul(3), all.at(-1)!.mul(4), all[1] ?? x, (all[i] ?? x).add(1)];
    };
    sameAsEager(f, inputs, {
      never: [
        ['second branch', 'all[0]!', 'it holds x'],
        ['second branch', 'all.at(-1)!', 'it holds x'],
      ],
    });
  });

  it('under a decision in the iteration, and in an inner loop', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let [y, n] = [x, 0];
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        if (y.max().itemSync() > 9) all.push(y);
        let z = y;
        while (z.max().itemSync() > 30) {
          z = z.mul(0.5);
          all.push(z);
          n++;
        }
      }
      return { all, n };
    };
    sameAsEager(f, inputs);
  });

  it('is iterated, with keys, and left early', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      let sum = x.mul(0);
      for (const each of all) sum = sum.add(each.mul(3));
      let weighed = x.mul(0);
      for (const [i, each] of all.entries()) {
        if (each.sum().itemSync() > 90) break;
        weighed = weighed.add(each.mul(i + 1));
      }
      return [sum, weighed];
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['no iteration', 'const each of all', 'the iteration itself asks whether there is one'],
        [
          'no iteration',
          'const [i, each] of all',
          'the iteration itself asks whether there is one',
        ],
      ],
    });
  });

  it('by an index that counts', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [x];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      let sum = x.mul(0);
      for (let i = all.length - 1; i >= 0; i--) sum = sum.mul(0.5).add(all[i]!);
      return sum;
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['no iteration', '0; i--', 'it holds x'],
        ['second branch', 'all[i]!', 'there are so many'],
      ],
    });
  });

  it('is a stack: what was pushed is popped again', () => {
    const f = (x: Tensor) => {
      const stack = [x];
      let done = x.mul(0);
      let turns = 0;
      while (stack.length > 0) {
        const top = stack.pop()!;
        turns++;
        if (top.sum().itemSync() > 40) {
          stack.push(top.mul(0.5), top.mul(0.25));
        } else done = done.add(top);
      }
      return [done, turns, stack, stack.pop()];
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['no iteration', 'stack.length > 0', 'the iteration itself asks whether there is one'],
        ['second branch', 'stack.pop()!', 'there are so many'],
        ['first branch', 'stack.pop()]', 'the loop has emptied it'],
      ],
    });
  });

  it('changes at an index, at its end, and is emptied', () => {
    const f = (x: Tensor) => {
      const all = [x, x.mul(2)];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all[all.length] = y;
        all[1] = all[0]!.add(y);
        all[all.length - 1] = all.at(-1)!.add(1);
      }
      const first = all[1]!;
      if (y.sum().itemSync() > 150) all.length = 0;
      all.push(y);
      return [all, first];
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['first branch', 'all[all.length] = ', 'the index is its length'],
        ['second branch', 'all[0]!', 'it holds x'],
        ['second branch', 'all[1] = ', 'it holds two'],
        ['second branch', 'all.at(-1)!', 'it holds x'],
        ['second branch', 'all[all.length - 1] = ', 'it holds x'],
        ['second branch', 'all[1]!', 'it holds two'],
      ],
    });
  });

  it('is a copy made anew in every iteration', () => {
    const f = (x: Tensor) => {
      let all: Tensor[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all = [...all, y];
      }
      const more = [x, ...all, y];
      return [all, more, more.length];
    };
    sameAsEager(f, inputs);
  });

  it('is a field, an argument and a variable of a closure', () => {
    const f = (x: Tensor) => {
      const state = { seen: [] as Tensor[], count: 0 };
      const note = (list: Tensor[], each: Tensor) => {
        list.push(each);
        state.count++;
      };
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        note(state.seen, y);
      }
      return state;
    };
    sameAsEager(f, inputs);
  });

  it('goes through callbacks', () => {
    const f = (x: Tensor) => {
      const all: Tensor[] = [];
      let y = x;
      while (y.sum().itemSync() < 100) {
        y = y.mul(2);
        all.push(y);
      }
      let sum = x;
      all.forEach((each) => {
        sum = sum.add(each);
      });
      const total = all.reduce((so, each) => so.add(each), x);
      const large = all.filter((each) => each.sum().itemSync() > 50);
      return [sum, total, large, all.some((each) => each.sum().itemSync() > 60)];
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['second branch', 'all.forEach(', 'no callback takes elements away'],
        ['second branch', 'all.reduce(', 'no callback takes elements away'],
        ['no iteration', 'all.some(', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('born in every iteration of a loop', () => {
    const f = (x: Tensor) => {
      let y = x;
      let total = x.mul(0);
      while (y.sum().itemSync() < 100) {
        const parts: Tensor[] = [];
        let z = y;
        while (z.sum().itemSync() > 10) {
          z = z.mul(0.4);
          parts.push(z);
        }
        for (const part of parts) total = total.add(part);
        y = y.mul(3).add(parts.length);
      }
      return [total, y];
    };
    sameAsEager(f, inputs, {
      exact: false,
      never: [
        ['no iteration', 'const part of parts', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('in one branch', () => {
    const f = (x: Tensor) => {
      const all = [x];
      let y = x;
      if (x.sum().itemSync() > 10) {
        while (y.sum().itemSync() < 100) {
          y = y.mul(2);
          all.push(y);
        }
      } else all.push(x.mul(-1));
      return [all.length, all];
    };
    sameAsEager(f, inputs);
  });
});
