/** Conformance 84–90: loops of one program. */

import { describe, it } from 'vitest';
import { type Tensor, tensor } from '../../../src/index.ts';
import { sameAsEager as check } from '../suite.ts';

/** With `capture: 'auto'` and with graph breaks, too. */
const sameAsEager: typeof check = (fn, inputs, options) =>
  check(fn, inputs, { auto: 'fewer', ...options });
const x = (...values: number[]) => tensor(values).requiresGrad_();
const loose = { exact: false };

describe('loops of one program', () => {
  it('while on a value of the program, zero to many iterations (84)', () => {
    const f = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 100) y = y.mul(2);
      return y;
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(60, 20)], () => [x(200, 20)]], loose);
  });

  it('while on mixed conditions (84)', () => {
    const f = (x: Tensor, limit: number) => {
      let y = x;
      let n = 0;
      while (n < limit && y.sum().itemSync() < 100) {
        y = y.mul(x);
        n++;
      }
      return [y, n];
    };
    sameAsEager(f, [() => [x(1, 2), 4], () => [x(6, 2), 4], () => [x(200, 2), 4]], {
      ...loose,
      never: [['no iteration', 'n < limit', 'the iteration itself asks whether there is one']],
    });
  });

  it('do while', () => {
    const f = (x: Tensor) => {
      let y = x;
      do {
        y = y.mul(2).add(1);
      } while (y.max().itemSync() < 30);
      return y;
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(60, 20)]], {
      ...loose,
      never: [['no iteration', 'y.mul(2)', 'it has a first iteration']],
    });
  });

  it.each([
    [0, 10, 2],
    [10, 0, -3],
  ])('for from %i to %i by %i with an exit (85)', (start, stop, by) => {
    const f = (x: Tensor) => {
      let y = x;
      for (let i = start; by > 0 ? i < stop : i > stop; i += by) {
        y = y.mul(2).add(i);
        if (y.sum().itemSync() > 40) break;
      }
      return y;
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(60, 20)], () => [x(-1, 0)], () => [x(-100, -100)]], {
      ...loose,
      never: [['no iteration', 'by > 0', 'the first iteration is known']],
    });
  });

  it('for from, to and by numbers of the program (85)', () => {
    const f = (x: Tensor, start: Tensor, stop: Tensor, by: Tensor) => {
      let y = x;
      let turns = 0;
      const step = by.itemSync();
      for (
        let i = start.itemSync();
        step > 0 ? i < stop.itemSync() : i > stop.itemSync();
        i += step
      ) {
        y = y.mul(1.5).add(i);
        turns++;
      }
      return [y, turns];
    };
    const ranges = [
      [0, 10, 3],
      [5, -3, -2],
      [2, 3, 1],
      [3, 2, -1],
      [4, 4, 1],
      [4, 4, -1],
      [0, 1, 0.25],
    ];
    sameAsEager(
      f,
      ranges.map((range) => () => [x(1, 2), ...range.map((each) => tensor(each))]),
      loose,
    );
  });

  it('fields of objects and elements of arrays as state (87)', () => {
    const f = (x: Tensor) => {
      const state = { h: x, steps: 0, pair: [x, x.mul(0.5)] };
      while (state.h.sum().itemSync() < 50) {
        state.h = state.h.add(state.pair[1]!);
        state.pair[1] = state.pair[1]!.mul(2);
        state.steps++;
      }
      return [state.h, state.steps, state.pair[1]];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(60, 20)], () => [x(20, 15)]], loose);
  });

  it('module state as state of the loop (87)', () => {
    const f = (x: Tensor, module: { total: Tensor }) => {
      let y = x;
      while (y.sum().itemSync() < 50) {
        y = y.mul(2);
        module.total = module.total.add(y);
      }
      return y;
    };
    sameAsEager(
      f,
      [
        [1, 2],
        [60, 2],
        [20, 10],
      ].map((start) => () => [x(...start), { total: tensor([0, 0]) }]),
      loose,
    );
  });

  it('continue and break, at the start, in the middle, at the end, in else (88)', () => {
    const f = (x: Tensor) => {
      let y = x;
      let n = 0;
      while (y.sum().itemSync() < 1000) {
        n++;
        if (n > 12) break;
        y = y.add(1);
        if (y.sum().itemSync() < 10) continue;
        y = y.mul(1.5);
        if (y.max().itemSync() > 40) {
          y = y.sub(2);
        } else {
          if (y.min().itemSync() < -5) break;
          y = y.add(0.5);
        }
      }
      return [y, n];
    };
    const starts = [
      [1, 2],
      [30, 2],
      [-20, 4],
      [2000, 1],
      [-6, 20],
    ];
    sameAsEager(
      f,
      starts.map((each) => () => [x(...each)]),
      {
        ...loose,
        never: [['no iteration', 'y.sum()', 'the iteration itself asks whether there is one']],
      },
    );
  });

  it('continue and break in a for, together and inside else (88)', () => {
    const f = (x: Tensor) => {
      let y = x;
      let kept = 0;
      for (let i = 0; i < x.abs().max().itemSync(); i++) {
        if (y.sum().itemSync() > 60) {
          if (y.min().itemSync() > 25) break;
          y = y.sub(i);
          continue;
        } else {
          y = y.add(4);
          if (y.max().itemSync() < 6) continue;
          else if (y.min().itemSync() < -90) break;
        }
        kept++;
        y = y.mul(1.25);
      }
      return [y, kept];
    };
    const starts = [
      [1, 2],
      [0, 0],
      [0.5, 1],
      [40, 50],
      [90, 3],
      [-200, 100],
    ];
    sameAsEager(
      f,
      starts.map((each) => () => [x(...each)]),
      {
        ...loose,
        never: [['no iteration', 'x.abs()', 'the iteration itself asks whether there is one']],
      },
    );
  });

  it('loops inside loops, with labels (88)', () => {
    const f = (x: Tensor) => {
      let y = x;
      let turns = 0;
      outer: while (y.sum().itemSync() < 200) {
        let inner = 0;
        while (inner < 3) {
          y = y.add(inner + 1);
          inner++;
          turns++;
          if (y.max().itemSync() > 60) break outer;
          if (y.sum().itemSync() > 50) continue outer;
          if (y.min().itemSync() > 20) break;
        }
        y = y.mul(1.25);
        if (turns > 30) break;
      }
      return [y, turns];
    };
    const starts = [
      [1, 2],
      [30, 2],
      [21, 22],
      [70, 1],
      [300, 1],
      [-1000, -900],
    ];
    sameAsEager(
      f,
      starts.map((each) => () => [x(...each)]),
      {
        ...loose,
        never: [
          ['no iteration', 'y.sum()', 'the iteration itself asks whether there is one'],
          ['no iteration', '3) {', 'the iteration itself asks whether there is one'],
        ],
      },
    );
  });

  it('return inside a loop, under a decision (81)', () => {
    const f = (x: Tensor) => {
      let y = x;
      for (let i = 0; i < 5; i++) {
        y = y.mul(2);
        if (y.sum().itemSync() > 30) return y.neg();
      }
      return y.exp().mul(0.1);
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(0.1, 0.2)], () => [x(40, 2)]], {
      ...loose,
      never: [['no iteration', '5; i++', 'the first iteration is known']],
    });
  });

  it('return inside a while, under nested decisions (81)', () => {
    const f = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 100) {
        if (y.max().itemSync() > 20) {
          if (y.min().itemSync() < 0) return y.neg();
          return [y.mul(3)][0]!;
        }
        y = y.mul(2);
      }
      return y.sub(1);
    };
    const starts = [
      [1, 2],
      [-1, 7],
      [60, 60],
      [19, 18],
    ];
    sameAsEager(
      f,
      starts.map((each) => () => [x(...each)]),
      {
        ...loose,
        never: [['no iteration', 'y.sum()', 'the iteration itself asks whether there is one']],
      },
    );
  });

  it('a host loop over layers that one of them may end (89)', () => {
    const layers = [1.5, 2.5, 0.5].map((scale) => (x: Tensor) => x.mul(scale).tanh());
    const f = (x: Tensor) => {
      let h = x;
      for (const layer of layers) {
        h = layer(h);
        if (h.abs().max().itemSync() > 0.9) break;
      }
      return h;
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(0.1, 0.2)], () => [x(0.5, 0.5)]]);
  });

  it('a value made in the loop and used behind it', () => {
    const f = (x: Tensor) => {
      let last = x;
      let y = x;
      while (y.sum().itemSync() < 20) {
        const next = y.mul(1.5);
        last = next.sub(y);
        y = next;
      }
      return last.add(y);
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(100, 2)], () => [x(8, 8)]], loose);
  });

  it('casts of numbers in a loop (91)', () => {
    const f = (x: Tensor) => {
      let n = 0;
      let ok = true;
      while (ok) {
        n = n + Math.trunc(x.sum().itemSync());
        ok = n < 20;
      }
      return [x.mul(n), Number(ok), Boolean(n)];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(100, 2)]], {
      ...loose,
      never: [['no iteration', 'ok)', 'the iteration itself asks whether there is one']],
    });
  });
});
