/** Values too different to be one: missing, text, functions, objects, lists of several lengths (86, 90). */

import { describe, expect, it } from 'vitest';
import { printProgram, stack, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { positive, sameAsEager, signs } from './suite.ts';

const x = (...values: number[]) => tensor(values).requiresGrad_();

describe('a value that exists in one branch', () => {
  it('undefined or null, and a tensor', () => {
    const f = (x: Tensor) => {
      let y: Tensor | undefined;
      let z: Tensor | null = null;
      if (positive(x)) {
        y = x.mul(2);
        z = y.add(1);
      }
      const kinds = [typeof y === 'undefined', z === null, !y, z == null];
      return [y ? y.mul(3) : x.mul(5), (z ?? x).mul(3), z?.mul(7) ?? x, kinds, y];
    };
    sameAsEager(f, signs);
  });

  it('a number, compared and defaulted', () => {
    const f = (x: Tensor) => {
      let scale: number | undefined;
      if (positive(x)) scale = x.max().itemSync();
      return [x.mul(scale ?? 2), scale === undefined, scale];
    };
    sameAsEager(f, signs);
  });

  it('a property, an element, an entry', () => {
    const f = (x: Tensor) => {
      const object: { a?: Tensor; b: number } = { b: 1 };
      const list = [x];
      const map = new Map<string, Tensor>();
      const set = new Set<number>([7]);
      if (positive(x)) {
        object.a = x.mul(2);
        list.push(x.mul(3), x.mul(4));
        map.set('k', x.mul(5));
        set.delete(7);
      } else {
        map.set('other', x);
        set.add(1);
      }
      const facts = ['a' in object, list.length, map.has('k'), map.size, set.has(7), set.size];
      return [
        facts,
        object.a ?? x,
        list.at(-1),
        map.get('k') ?? x,
        stack(list).sum(0),
        object,
        list,
      ];
    };
    sameAsEager(f, signs);
  });

  it('lists that grow under decisions: filter, find, pop', () => {
    const f = (x: Tensor) => {
      const all = [x, x.mul(-2), x.add(1)];
      const kept = all.filter(positive);
      const last = kept.pop();
      let sum = x.mul(0);
      for (const each of kept) sum = sum.add(each);
      return [kept.length, last ?? x, sum, all.find((each) => each.max().itemSync() > 50) ?? x];
    };
    sameAsEager(f, signs, {
      exact: false,
      never: [
        ['no iteration', 'all.find(', 'the iteration itself asks whether there is one'],
        ['first branch', 'last ?? x', 'one of them is always kept'],
      ],
    });
  });
});

describe('a list that grows under decisions', () => {
  /** Every iteration may add in front, behind, or take away. */
  const collect = (turns: number) => (x: Tensor) => {
    const all: Tensor[] = [];
    for (let i = 0; i < turns; i++) {
      const each = x.select(0, i);
      if (each.itemSync() > 1) all.push(each.mul(2));
      else if (each.itemSync() > 0) all.unshift(each.mul(3));
      else if (each.itemSync() < -1) all.pop();
    }
    return { all, count: all.length, sum: all.length > 0 ? stack(all).sum(0) : x.sum() };
  };

  it('from both ends', () => {
    const data = [
      [2, 3, 0.5, 4],
      [-1, 0, 0, 0],
      [0.2, 3, -2, -2],
      [2, -2, -2, 0.7],
      [0, 2, -2, 3],
      [0, 0.5, 0.6, 2],
    ];
    sameAsEager(
      collect(4),
      data.map((values) => () => [x(...values)]),
    );
  });

  it('has a length for each of them: the decisions grow with their square, not with two to that', () => {
    const decisions = (turns: number) => {
      const pushes = (x: Tensor) => {
        const all: Tensor[] = [];
        for (let i = 0; i < turns; i++) if (x.select(0, i).itemSync() > 0) all.push(x.mul(i));
        return all.length > 0 ? stack(all).mean(0) : x;
      };
      const graph = toStatic(pushes, { fullGraph: true });
      tidy(() => graph(tensor([1, -2, 3, 4, -5, 6, 7, 8])));
      return printProgram(graph.programs()[0]!.stages!.traced).split(' = cond ').length - 1;
    };
    expect(decisions(8)).toBeLessThan(4 * decisions(4));
  });
});

describe('a value of several kinds', () => {
  it('text', () => {
    const f = (x: Tensor) => {
      const mode = positive(x) ? 'relu' : 'negate';
      switch (mode) {
        case 'relu':
          return [x.relu(), mode];
        default:
          return [x.neg(), mode];
      }
    };
    sameAsEager(f, signs);
  });

  it('functions', () => {
    const f = (x: Tensor) => {
      let k = 1;
      let g = (y: Tensor) => y.mul(2);
      if (positive(x)) {
        k = 3;
        g = (y) => y.add(k);
      }
      return g(g(x));
    };
    sameAsEager(f, signs);
  });

  it('objects that keep their identity', () => {
    const f = (x: Tensor) => {
      const [a, b] = [{ h: x }, { h: x.mul(2) }];
      const chosen = positive(x) ? a : b;
      chosen.h = x.mul(9);
      return [a.h, b.h, chosen === a, chosen];
    };
    sameAsEager(f, signs);
  });

  it('one object in two places stays one', () => {
    const f = (x: Tensor) => {
      let a = { h: x };
      let b = { h: x };
      if (positive(x)) {
        a = { h: x.mul(2) };
        b = a;
      } else {
        a = { h: x.mul(3) };
        b = a;
      }
      b.h = b.h.add(1);
      return [a.h, a === b];
    };
    sameAsEager(f, signs);
  });

  it('tensors of several shapes on the way to one', () => {
    const f = (x: Tensor) => {
      const y = positive(x) ? x : x.reshape([1, 2]).expand([3, 2]);
      return y.mul(y).sum();
    };
    sameAsEager(f, signs);
  });

  it('carried by a loop', () => {
    const f = (x: Tensor) => {
      let best: Tensor | null = null;
      let y = x;
      while (y.abs().sum().itemSync() < 100) {
        if (y.max().itemSync() > 5) best = y;
        y = y.mul(2).add(1);
      }
      return best ? best.sub(x) : y;
    };
    sameAsEager(f, [...signs, () => [x(90, 20)]], { exact: false });
  });

  it('numbers of an element: what is there, what is not', () => {
    const f = (x: Tensor) => {
      const list = [x, x.mul(2), x.mul(3)];
      const i = x.argmax().itemSync();
      list[i] = x.neg();
      return [list[i + 1], list, list[i * 9 + 2] ?? x.exp()];
    };
    sameAsEager(f, [...signs, () => [x(1, 3)]]);
  });
});

describe("capture: 'auto'", () => {
  const starts = [
    [1, 2],
    [-1, -2],
    [30, 40],
  ];

  it.each<[string, (x: Tensor, map: Map<string, Tensor>) => unknown]>([
    [
      'a list of any length',
      (x) => {
        const out: Tensor[] = [];
        for (let y = x; y.abs().sum().itemSync() < 50; y = y.mul(2)) out.push(y);
        return out;
      },
    ],
    ['functions of the host', (x) => x.mul((x.sum().itemSync() > 0 ? Math.max : Math.min)(1, 2))],
    ['text', (x) => [x.sum().itemSync() > 0 ? 'more' : 'less', x.mul(2)]],
    [
      'a pre-existing Map',
      (x, map) => {
        if (x.sum().itemSync() > 0) map.set('sum', x.sum());
        return x.mul(2);
      },
    ],
    [
      'a return from a loop before a list grows',
      (x) => {
        const list = [x];
        for (let i = 0; i < 2; i++) if (x.sum().itemSync() < -1) return [x.mul(2), 1];
        list.push(x.tanh());
        return [x, 2];
      },
    ],
  ])('keeps in the graph what one program can hold: %s', (_name, f) => {
    const auto = toStatic(f, { capture: 'auto' });
    const outcome = (run: typeof f, start: readonly number[]) => {
      const map = new Map<string, Tensor>();
      return JSON.stringify([run(tensor(start), map), [...map]]);
    };
    for (const start of starts) tidy(() => expect(outcome(auto, start)).toBe(outcome(f, start)));
    expect(auto.stats()).toMatchObject({ graphs: 1, graphRuns: 3, breaks: [] });
  });

  it('stays in the graph where results are not alike', () => {
    const auto = toStatic((x: Tensor) => (x.sum().itemSync() > 0 ? { y: x.mul(2) } : [x.mul(3)]), {
      capture: 'auto',
    });
    for (const start of starts) tidy(() => auto(tensor(start)));
    expect(auto.stats()).toMatchObject({ breaks: [], graphs: 1 });
  });
});

describe('what user code returns inside an operation, of a kind that the data decides', () => {
  it.each<[string, (x: Tensor, log: string[]) => unknown]>([
    [
      'toString',
      (x, log) => {
        const box = {
          toString: () => {
            log.push('called');
            return positive(x) ? 'a' : 'b';
          },
        };
        return `<${box}>`;
      },
    ],
    [
      'Symbol.toPrimitive',
      (x, log) => {
        const box = {
          [Symbol.toPrimitive]: (hint: string) => {
            log.push(hint);
            return positive(x) ? 5 : 'x';
          },
        };
        return `${box as unknown as string}`;
      },
    ],
    [
      'the iterable of a yield*',
      (x, log) => {
        const make = function* () {
          log.push('begun');
          yield* positive(x) ? [1, 2] : 'ab';
        };
        return [...make()];
      },
    ],
  ])('%s', (_name, form) => {
    const calls = (fn: typeof form) =>
      [1, -1, 2].map((value) => {
        const log: string[] = [];
        return tidy(() => [fn(tensor([value]), log), log]);
      });
    const expected = calls(form);
    expect(calls(toStatic(form, { capture: 'auto', strict: true }))).toEqual(expected);
    expect(() => calls(toStatic(form, { fullGraph: true }))).toThrow(/data-dependent in kind/);
  });
});
