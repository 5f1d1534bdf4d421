/** Arrays that grow in loops of the program and hold arrays and objects. */

import { describe, expect, it } from 'vitest';
import { stack, type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();
/** No iteration, one, some, many. */
const inputs = [() => [x(60, 70)], () => [x(30, 40)], () => [x(5, 9)], () => [x(0.5, 0.25)]];
const loose = { exact: false };

describe('a list of structures', () => {
  it('holds objects of tensors, numbers and truth values', () => {
    const f = (x: Tensor) => {
      const all: { h: Tensor; score: number; large: boolean; kind: string }[] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, score: h.max().itemSync(), large: h.min().itemSync() > 9, kind: 'state' });
      }
      return all;
    };
    sameAsEager(f, inputs);
  });

  it('holds arrays, and structures in them', () => {
    const f = (x: Tensor) => {
      const all: [Tensor, { sum: number; parts: Tensor[] }][] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push([h, { sum: h.sum().itemSync(), parts: [h.mul(3), h.sum()] }]);
      }
      return { all, count: all.length };
    };
    sameAsEager(f, inputs);
  });

  it('is read at indices, iterated and popped, with gradients', () => {
    const f = (x: Tensor) => {
      const all = [{ h: x, weight: 1 }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, weight: all.length + 1 });
      }
      let total = x.mul(0);
      for (const { h, weight } of all) total = total.add(h.mul(weight));
      for (const [i, each] of all.entries()) total = total.add(each.h.mul(i));
      const first = all[0]!.h.mul(3);
      const second = all[1]?.weight ?? -1;
      const last = all.pop()!;
      return [total, first, second, last.h.mul(last.weight), all.length, all.at(-1)?.h];
    };
    sameAsEager(f, inputs, {
      ...loose,
      never: [
        [
          'no iteration',
          'const { h, weight } of all',
          'the iteration itself asks whether there is one',
        ],
        [
          'one iteration',
          'const { h, weight } of all',
          'the iteration that finds the end is one, and it holds x',
        ],
        [
          'no iteration',
          'const [i, each] of all.entries()',
          'the iteration itself asks whether there is one',
        ],
        [
          'one iteration',
          'const [i, each] of all.entries()',
          'the iteration that finds the end is one, and it holds x',
        ],
        ['second branch', 'all[0]!.h', 'it holds x'],
        ['second branch', 'all.pop()!', 'it holds x'],
      ],
    });
  });

  it('is a stack of work with depths', () => {
    const f = (x: Tensor) => {
      const work = [{ part: x, depth: 0 }];
      let done = x.mul(0);
      let deepest = 0;
      while (work.length > 0) {
        const { part, depth } = work.pop()!;
        if (depth > deepest) deepest = depth;
        if (part.sum().itemSync() > 40) {
          work.push({ part: part.mul(0.5), depth: depth + 1 });
          work.push({ part: part.mul(0.25), depth: depth + 1 });
        } else done = done.add(part);
      }
      return [done, deepest, work];
    };
    sameAsEager(f, inputs, {
      ...loose,
      never: [
        ['no iteration', 'work.length > 0', 'the iteration itself asks whether there is one'],
        ['second branch', 'work.pop()!', 'there are so many'],
      ],
    });
  });

  it('is changed at indices', () => {
    const f = (x: Tensor) => {
      const all = [{ h: x, n: 0 }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all[all.length] = { h, n: all.length };
        all[0] = { ...all[0]!, n: all.length };
        all[all.length - 1] = { h: all.at(-1)!.h.add(1), n: -1 };
      }
      return all;
    };
    sameAsEager(f, inputs, {
      never: [
        ['first branch', 'all[all.length] = ', 'the index is its length'],
        ['second branch', 'all[0]!, n', 'it holds x'],
        ['second branch', '...all[0]!', 'it holds x'],
        ['second branch', 'all[0] = ', 'it holds x'],
        ['second branch', 'all.at(-1)!', 'it holds x'],
        ['second branch', 'all[all.length - 1] = ', 'it holds x'],
      ],
    });
  });

  it('is made anew in every iteration', () => {
    const f = (x: Tensor) => {
      let all: { h: Tensor }[] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all = [...all, { h }];
      }
      return [...all, { h: x }];
    };
    sameAsEager(f, inputs);
  });

  it('goes through callbacks', () => {
    const f = (x: Tensor) => {
      const all: { h: Tensor; score: number }[] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, score: h.max().itemSync() });
      }
      const states = all.map((each) => each.h.mul(each.score));
      const large = all.filter(({ score }) => score > 20);
      const found = all.find(({ score }) => score > 20);
      const sum = all.reduce((so, { h }) => so.add(h), x);
      return { states, large, found: found?.h ?? x, sum, any: all.some(({ score }) => score > 60) };
    };
    sameAsEager(f, inputs, {
      ...loose,
      never: [
        ['second branch', 'all.map(', 'no callback takes elements away'],
        ['no iteration', 'all.find(', 'the iteration itself asks whether there is one'],
        ['second branch', 'all.reduce(', 'no callback takes elements away'],
        ['no iteration', 'all.some(', 'the iteration itself asks whether there is one'],
      ],
    });
  });

  it('of which one field is stacked', () => {
    const f = (x: Tensor) => {
      const all = [{ h: x, score: 0 }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, score: 1 });
      }
      return stack(all.map(({ h }) => h));
    };
    sameAsEager(f, inputs, {
      ...loose,
      never: [
        ['no iteration', 'all.map(', 'it holds x'],
        ['second branch', 'all.map(', 'no callback takes elements away'],
      ],
    });
  });

  it('of instances of a class', () => {
    class Beam {
      readonly h: Tensor;
      readonly score: number;
      constructor(h: Tensor, score: number) {
        this.h = h;
        this.score = score;
      }
      get better(): number {
        return this.score + 1;
      }
    }
    const f = (x: Tensor) => {
      const all: Beam[] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push(new Beam(h, h.sum().itemSync()));
      }
      return [all, all.at(-1)?.better ?? 0];
    };
    sameAsEager(f, inputs);
    const graph = toStatic(f, { fullGraph: true });
    const [beams] = tidy(() => graph(tensor([1, 2]))) as [Beam[], number];
    expect(beams[0]).toBeInstanceOf(Beam);
  });
});

describe('a list of lists', () => {
  it('of numbers, which grow with every iteration', () => {
    const f = (x: Tensor) => {
      const paths: number[][] = [];
      let path: number[] = [];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        path = [...path, h.sum().itemSync()];
        paths.push(path);
      }
      return { paths, lengths: paths.map((each) => each.length), last: paths.at(-1)?.at(-1) ?? 0 };
    };
    sameAsEager(f, inputs, {
      never: [['second branch', 'paths.map(', 'no callback takes elements away']],
    });
  });

  it('of paths that branch: each iteration makes two of every one', () => {
    const f = (x: Tensor) => {
      let paths = [{ tokens: [0], h: x }];
      let n = 0;
      while (x.sum().itemSync() > n) {
        const next: typeof paths = [];
        for (const { tokens, h } of paths) {
          for (let k = 0; k < 2; k++) next.push({ tokens: [...tokens, k], h: h.add(k) });
        }
        paths = next.slice(0, 3);
        n++;
      }
      return paths;
    };
    sameAsEager(
      f,
      [
        [0, 0],
        [1, 0],
        [1, 2],
      ].map((start) => () => [x(...start)]),
      {
        never: [
          [
            'no iteration',
            'const { tokens, h } of paths',
            'the iteration itself asks whether there is one',
          ],
          ['one iteration', 'const { tokens, h } of paths', 'there is a path'],
          ['no iteration', 'next.slice(0, 3)', 'there are two'],
          ['one iteration', 'next.slice(0, 3)', 'there are two'],
          ['second branch', 'next.slice(0, 3)', 'no callback takes elements away'],
        ],
      },
    );
  });

  it('of tensors, with gradients', () => {
    const f = (x: Tensor) => {
      const paths = [{ states: [x], score: 0 }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        paths.push({ states: [...paths.at(-1)!.states, h], score: h.max().itemSync() });
      }
      let total = x.mul(0);
      for (const { states, score } of paths) {
        for (const state of states) total = total.add(state.mul(score + 1));
      }
      return [total, paths];
    };
    sameAsEager(f, inputs, {
      ...loose,
      never: [
        ['second branch', 'paths.at(-1)!', 'there is a path'],
        [
          'no iteration',
          'const { states, score } of paths',
          'the iteration itself asks whether there is one',
        ],
        ['one iteration', 'const { states, score } of paths', 'there is a path'],
        ['no iteration', 'const state of states', 'the iteration itself asks whether there is one'],
        ['one iteration', 'const state of states', 'every path holds x'],
      ],
    });
  });
});

describe('what a list of structures refuses', () => {
  const refused = (f: (x: Tensor) => unknown, reason: RegExp) => {
    const graph = toStatic(f, { fullGraph: true });
    expect(() => tidy(() => graph(tensor([1, 2])))).toThrow(reason);
  };

  it('elements of another form, with both lines', () => {
    refused((x) => {
      const all: object[] = [{ h: x }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, score: 1 });
      }
      return all;
    }, /holds \{ h: f32\[2\] \} \(.*structured-lists\.test\.ts:\d+:\d+\) and gets \{ h: f32\[2\], score: number \} \(.*structured-lists\.test\.ts:\d+:\d+\)/);
  });

  it('a change of an element', () => {
    refused((x) => {
      const all = [{ h: x, n: 0 }];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h, n: 0 });
        all[0]!.n = 1;
      }
      return all;
    }, /an object is changed that is or was an element of an array that grows/);
  });

  it('telling elements apart', () => {
    refused((x) => {
      const first = { h: x };
      const all = [first];
      let h = x;
      while (h.sum().itemSync() < 100) {
        h = h.mul(2);
        all.push({ h });
      }
      return all[1] === first ? x : h;
    }, /compared by identity/);
  });
});
