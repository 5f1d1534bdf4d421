/** Text of numbers that a program computes: made after the run, or when the program writes it. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { sameAsEager } from '../suite.ts';

const x = (...values: number[]) => tensor(values);
const inputs = [() => [x(1, 2.5)], () => [x(-3, 1)], () => [x(0.1, 0)], () => [x(1e9, 7)]];
const missing = (text: string): string | undefined => text;
const sum = (x: Tensor) => x.sum().itemSync();

afterEach(() => vi.restoreAllMocks());

describe('text of a number of the program as a result', () => {
  it('of templates, +, String and the methods of numbers', () => {
    const f = (x: Tensor) => {
      const n = sum(x);
      const truth = n > 0;
      return [
        `sum ${n}, ${truth}, ${x.shape[0]} and ${null}`,
        // biome-ignore lint/style/useTemplate: the operator is what is meant.
        ['a' + n, n + 'b', `${n}` + truth + 1],
        String(n),
        String(truth),
        n.toString(),
        n.toString(2),
        truth.toString(),
        n.toFixed(2),
        n.toFixed(),
        n.toPrecision(3),
        n.toExponential(1),
        `${-n} ${n * 2} ${Math.sqrt(n)} ${n / 0} ${0 / n}`,
        [n, 1, null, 'a', truth].join('; '),
        [n].join(),
        String(`${n}`),
      ];
    };
    sameAsEager(f, inputs);
  });

  it('of methods of text, whose own length nobody asks for', () => {
    const f = (x: Tensor) => {
      const n = sum(x);
      return [
        n.toFixed(1).padStart(12),
        `${n}`.padEnd(8, '.'),
        `${n}`.padStart(4, 'ab').slice(-3).toUpperCase(),
        ` ${n} `.trim(),
        typeof `${n}`,
        `${n}` ? 1 : 2,
        missing(`${n}`) ?? 3,
        { label: `n = ${n}` },
        new RangeError(`n is ${n}`).message,
      ];
    };
    sameAsEager(f, inputs);
  });

  it('of branches and loops', () => {
    const f = (x: Tensor) => {
      let label = 'none';
      let last = `start ${sum(x)}`;
      let y = x;
      if (sum(x) > 0) label = `positive: ${sum(x).toFixed(1)}`;
      const same = sum(x) > 2 ? `large ${sum(x)}` : `large ${x.max().itemSync()}`;
      while (sum(y) < 20 && sum(y) > 0) {
        y = y.mul(2);
        last = `start ${sum(y)}`;
      }
      const twice = sum(x) > 0 ? [label, label] : [label, last];
      return { label, last, same, y, twice };
    };
    sameAsEager(f, inputs, {
      never: [['no iteration', 'sum(y) < 20', 'the iteration itself asks whether there is one']],
    });
  });

  it('of what was kept in objects and closures', () => {
    const f = (x: Tensor) => {
      const log: string[] = [];
      const note = (text: string) => log.push(text);
      note(`sum ${sum(x)}`);
      note(`max ${x.max().itemSync()}`);
      return log;
    };
    sameAsEager(f, inputs);
  });
});

it('on the console, without any value', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const fn = (x: Tensor) => {
    let y = x;
    if (x.sum().itemSync() > 0) {
      console.log('before');
      y = x.mul(2).tanh();
      console.log('after');
      y = y.mul(3).mul(x);
    }
    return y;
  };
  sameAsEager(fn, [
    () => [tensor([1, 2]).requiresGrad_()],
    () => [tensor([-1, -2]).requiresGrad_()],
  ]);
  // Eagerly and as a program, each twice.
  expect(log.mock.calls.flat()).toEqual(Array(4).fill(['before', 'after']).flat());
});

it('on the console, in the order of the run', () => {
  const f = (x: Tensor) => {
    let y = x;
    for (let step = 0; sum(y) < 20; step++) {
      y = y.mul(2);
      console.log(`step ${step}: ${sum(y).toFixed(3).padStart(10)}`, `max ${y.max().itemSync()}`);
      // biome-ignore lint/style/useTemplate: the operator is what is meant.
      if (y.max().itemSync() > 7) console.warn('large: ' + (y.max().itemSync() > 10));
    }
    return y;
  };
  const lines: unknown[][] = [];
  vi.spyOn(console, 'log').mockImplementation((...args) => lines.push(args));
  vi.spyOn(console, 'warn').mockImplementation((...args) => lines.push(args));
  tidy(() => f(x(1, 2)));
  const expected = lines.splice(0);
  expect(expected.length).toBeGreaterThan(3);
  const graph = toStatic(f, { fullGraph: true });
  for (let i = 0; i < 2; i++) {
    tidy(() => graph(x(1, 2)));
    expect(lines.splice(0)).toEqual(expected);
  }
  expect(graph.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
});

it('in the message of an error that a check throws, or that is caught', () => {
  const f = (x: Tensor) => {
    const n = sum(x);
    if (n > 5) throw new RangeError(`too large: ${n.toFixed(1)}`);
    try {
      if (n < 0) throw new TypeError(`negative: ${n}`);
      return x.mul(2);
    } catch (error) {
      return (error as Error).message;
    }
  };
  sameAsEager(f, inputs);
});

describe('text that is asked inside the program', () => {
  it.each([
    ['its length', (x: Tensor) => `${sum(x)}`.length, /is asked for length/],
    ['a letter', (x: Tensor) => `${sum(x)}`[0], /is asked for 0/],
    ['a comparison', (x: Tensor) => (`${sum(x)}` === '3' ? x : x.mul(2)), /is an operand of ===/],
    ['an order', (x: Tensor) => `${sum(x)}` < '3', /is an operand of </],
    ['a search', (x: Tensor) => `${sum(x)}`.includes('3'), /is asked for includes\(\)/],
    ['a key', (x: Tensor) => ({ 3: x })[`${sum(x)}` as unknown as 3], /is needed inside/],
    [
      'a switch',
      (x: Tensor) => {
        switch (String(sum(x))) {
          case '3':
            return x;
          default:
            return x.mul(2);
        }
      },
      /is an operand of ===/,
    ],
    ['a number of it', (x: Tensor) => +sum(x).toFixed(1), /is needed inside/],
    ['text at a number', (x: Tensor) => 'abc'.charAt(sum(x)), /is passed to charAt\(\)/],
  ] as const)('%s', (_name, f, says) => {
    const graph = toStatic(f as (x: Tensor) => unknown, { fullGraph: true });
    expect(() => tidy(() => graph(x(1, 2)))).toThrow(says);
  });
});
