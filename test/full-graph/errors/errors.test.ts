/** Conformance 80, 86, 89, 95: what keeps a function from being one program, and checks at run time. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  FullGraphError,
  memory,
  ShapeError,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import type { Never } from '../paths-taken.ts';
import { sameAsEager } from '../suite.ts';

interface Failure extends Error {
  readonly record?: FullGraphError['record'];
  readonly frames?: FullGraphError['frames'];
}

function failureOf(body: () => unknown): Failure {
  try {
    tidy(body);
  } catch (error) {
    return error as Failure;
  }
  throw new Error('nothing was thrown');
}

const full = <F extends (...args: never[]) => unknown>(fn: F) => toStatic(fn, { fullGraph: true });

describe('what is not one program', () => {
  let before = 0;
  beforeEach(() => {
    before = memory.stats('cpu').allocated;
  });
  afterEach(() => {
    expect(memory.stats('cpu').allocated).toBe(before);
  });

  it('branches that share an object and that do not name both lines (80)', () => {
    const f = full((x: Tensor) => {
      if (x.sum().itemSync() > 0) {
        const own = [x.mul(2)];
        return [own, own];
      }
      return [[x.mul(2)], [x.add(1)]];
    });
    const error = failureOf(() => f(tensor([1, 2])));
    expect(error).toBeInstanceOf(FullGraphError);
    expect(error.message).toMatch(
      /the returned value is one object on one path and two on another/,
    );
    const lines = [...error.message.matchAll(/errors\.test\.ts:(\d+)/g)].map((match) => match[1]);
    expect(new Set(lines).size).toBeGreaterThanOrEqual(2);
    expect(error.message).toContain('<--- HERE');
  });

  it('branches of which one leaves a hole in an array', () => {
    const f = full((x: Tensor) => {
      const both: Tensor[] = new Array(2);
      both[0] = x;
      if (x.sum().itemSync() > 0) both[1] = x.mul(2);
      return both;
    });
    expect(failureOf(() => f(tensor([1, 2]))).message).toMatch(/f32\[2\] tensor and a hole/);
  });

  it('a call that runs natively, with the frames that lead there', () => {
    const inner = (x: Tensor) => {
      process.uptime();
      return x.mul(2);
    };
    const f = full((x: Tensor) => inner(x.add(1)));
    const error = failureOf(() => f(tensor([1, 2])));
    expect(error).toBeInstanceOf(FullGraphError);
    expect(error.record).toMatchObject({ reason: 'native-call' });
    expect(error.frames).toHaveLength(2);
    expect(error.message).toMatch(/process\.uptime\(\).*<--- HERE/);
    expect(error.message).toContain('called from');
  });

  it('an op that refuses its operands keeps its error (95)', () => {
    const f = full((x: Tensor) => {
      const y = x.mul(2);
      return y.matmul(tensor([[1, 2, 3]]));
    });
    const error = failureOf(() => f(tensor([1, 2])));
    expect(error).toBeInstanceOf(ShapeError);
    expect(error.message).toMatch(/y\.matmul.*<--- HERE/);
  });
});

describe('checks of the user', () => {
  it('throw the error of the user, where and when eager execution does', () => {
    const f = (x: Tensor) => {
      const y = x.log();
      if (y.isnan().any().itemSync()) throw new RangeError('negative values');
      return y.mul(2);
    };
    const { graph } = sameAsEager(f, [() => [tensor([1, 2])], () => [tensor([-1, 2])]]);
    expect(failureOf(() => graph(tensor([-1, 1])))).toBeInstanceOf(RangeError);
  });

  it('are those of the language, too: a variable that one branch leaves undefined (86)', () => {
    const f = (x: Tensor) => {
      let y: Tensor | undefined;
      if (x.sum().itemSync() > 0) y = x.mul(2);
      return y!.add(1);
    };
    sameAsEager(f, [() => [tensor([1, 2])], () => [tensor([-1, -2])]], {
      never: [['second branch', 'x.sum().itemSync() > 0', 'it throws']],
    });
  });

  it('a variable that only an iteration of the loop makes (86)', () => {
    const f = (x: Tensor) => {
      let last: Tensor | undefined;
      let y = x;
      while (y.sum().itemSync() < 20) {
        last = y;
        y = y.mul(2);
      }
      return last!.add(y);
    };
    const starts = [
      [1, 2],
      [6, 5],
      [30, 1],
    ];
    const inputs = starts.map((each) => () => [tensor(each)]);
    const never: Never[] = [['no iteration', 'y.sum()', 'it throws']];
    sameAsEager(f, inputs, { exact: false, never });
  });

  it('a variable of an iteration that is read before it is made (86)', () => {
    const f = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 20) {
        const read = () => made;
        y = read().mul(2);
        const made = y.add(1);
      }
      return y;
    };
    const never: Never[] = [
      ['no iteration', 'y.sum()', 'the iteration itself asks whether there is one'],
      ['many iterations', 'y.sum()', 'it throws'],
    ];
    sameAsEager(f, [() => [tensor([30, 1])], () => [tensor([1, 2])]], { never });
  });

  it('stand in loops and branches', () => {
    const f = (x: Tensor) => {
      let y = x;
      let n = 0;
      while (y.sum().itemSync() < 100) {
        y = y.mul(x);
        n++;
        if (n > 4) throw new Error(`no end after ${n}`);
      }
      return y;
    };
    sameAsEager(f, [
      () => [tensor([2, 3])],
      () => [tensor([0.5, 0.1])],
      () => [tensor([60, 50])],
      () => [tensor([20, 30])],
    ]);
  });
});

describe('console.log in a program', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('writes the lines that eager execution writes, in its order', () => {
    const f = (x: Tensor) => {
      let y = x;
      while (y.sum().itemSync() < 20) {
        y = y.mul(2);
        console.log('sum', y.sum().itemSync(), 1);
        if (y.max().itemSync() > 7) console.warn('large', y.max().itemSync() > 10);
      }
      return y;
    };
    const lines: unknown[][] = [];
    vi.spyOn(console, 'log').mockImplementation((...args) => lines.push(args));
    vi.spyOn(console, 'warn').mockImplementation((...args) => lines.push(args));
    tidy(() => f(tensor([1, 2])));
    const expected = lines.splice(0);
    const g = full(f);
    for (let i = 0; i < 2; i++) {
      tidy(() => g(tensor([1, 2])));
      expect(lines.splice(0)).toEqual(expected);
    }
    expect(g.stats()).toMatchObject({ graphs: 1, breaks: [] });
  });
});

describe("capture: 'auto'", () => {
  it('keeps decisions in the graph where both branches merge, and breaks elsewhere', () => {
    const f = (x: Tensor) => {
      let y = x;
      if (x.sum().itemSync() > 0) y = y.mul(2);
      const both = Array<Tensor>(2).fill(y, 0, 1);
      if (x.max().itemSync() > 10) both[1] = y;
      return both;
    };
    const broken = toStatic(f);
    const g = toStatic(f, { capture: 'auto' });
    for (const values of [
      [1, 2],
      [-1, -2],
      [20, 1],
      [3, 4],
    ]) {
      tidy(() => {
        const [a, b, c] = [f, broken, g].map((each) =>
          each(tensor(values)).map((y) => [...y.dataSync()]),
        );
        expect(b).toEqual(a);
        expect(c).toEqual(a);
      });
    }
    expect(g.stats().graphs).toBeLessThan(broken.stats().graphs);
    expect(g.stats().breaks.map(({ reason }) => reason)).toContain('branch-mismatch');
  });
});
