/** Code after which only an exception can follow ends the one program: the rest of the call runs natively. */

import { expect, it } from 'vitest';
import {
  breakGraph,
  FullGraphError,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';

class Rejected extends Error {
  readonly #code: number;

  constructor(message: string, code: number) {
    super(message);
    this.#code = code;
  }

  get code(): number {
    return this.#code;
  }
}

class Report {
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }
}

type Fn = (x: Tensor, log: unknown[]) => unknown;

const rejected = (code: number): Rejected => new Rejected('rejected', code);

function fail(code: number): never {
  const report = new Report(code);
  throw Object.assign(rejected(report.size), { report });
}

function failIn(x: Tensor): Tensor {
  return x.shape[0] === 3 ? fail(7) : x.mul(2);
}

/** Functions that throw for 3 elements and may return for others. */
const throwing: Record<string, Fn> = {
  'an error with private fields': (x) => {
    const y = x.mul(2);
    if (x.shape[0] === 3) throw new Rejected('three', 3);
    return y;
  },
  'an instance with private fields': (x) => {
    if (x.shape[0] === 3) throw new Report(3);
    return x.mul(2);
  },
  'an object that holds such an instance': (x) => {
    const y = x.mul(2);
    if (x.shape[0] === 3) throw { report: new Report(3), y };
    return y;
  },
  'an error made by a function': (x) => {
    if (x.shape[0] === 3) throw rejected(4);
    return x.mul(2);
  },
  'from a function that only throws': (x) => {
    if (x.shape[0] === 3) fail(5);
    return x.mul(2);
  },
  'below a call that may return': (x) => failIn(x).add(1),
  'a message of a native function': (x) => {
    if (x.shape[0] === 3) throw new Error(process.cwd().slice(0, 1) + String(x.dataSync()[0]));
    return x.mul(2);
  },
  'either of two errors': (x, log) => {
    if (x.shape[0] === 3) {
      log.push(process.uptime() > 0);
      if (log.length > 1) throw new Rejected('two', 2);
      log.push('one');
      throw new Rejected('one', 1);
    }
    return x.mul(2);
  },
  'after a decision on a tensor': (x) => {
    const total = x.sum().itemSync();
    if (total > 5) throw new Rejected(`the sum is ${total}`, x.dataSync()[0]!);
    return x.mul(2);
  },
};

function outcome(run: Fn, values: readonly number[]): unknown {
  const log: unknown[] = [];
  return tidy(() => {
    try {
      return [[...(run(tensor(values), log) as Tensor).dataSync()], log];
    } catch (thrown) {
      const { name, message, code, size, report } = thrown as Rejected &
        Report & { report: Report };
      return [(thrown as object).constructor, name, message, code, size, report?.size, log];
    }
  });
}

it.each(Object.entries(throwing))('throws %s', (_, run) => {
  const graphs = [{}, { fullGraph: true }, { capture: 'auto' as const }].map((options) =>
    toStatic(run, options),
  );
  for (const values of [[1, 2], [1, 2, 3], [4], [1, 2, 4]]) {
    for (const graph of graphs) expect(outcome(graph, values)).toEqual(outcome(run, values));
  }
});

it('an error with private fields is caught and read in the program, also in a branch', () => {
  const run: Fn = (x) => {
    try {
      if (x.sum().itemSync() > 5) throw new Rejected('large', 3);
      if (x.shape[0] === 1) throw new Rejected('one', 5);
    } catch (error) {
      return x.mul((error as Rejected).code);
    }
    return x.mul(2);
  };
  const graph = toStatic(run, { fullGraph: true });
  for (const values of [[1, 2], [4, 2], [1], [9]]) {
    expect(outcome(graph, values)).toEqual(outcome(run, values));
  }
});

/** Here something else than an exception can follow. */
const open: Record<string, Fn> = {
  'the call may return': (x) => {
    const size = process.uptime();
    if (size > 0) return x.mul(2);
    throw new Rejected('none', size);
  },
  'the exception is caught': (x) => {
    try {
      throw new Rejected(process.cwd(), 1);
    } catch {
      return x.mul(2);
    }
  },
  'a loop precedes the exception': (x) => {
    for (let i = 0; i < 3; i++) x.mul(process.uptime());
    throw new Rejected('after a loop', 1);
  },
  'a break was asked for': (x) => {
    x.mul(2);
    breakGraph();
    throw new Rejected('after a break', 1);
  },
};

it.each(Object.entries(open))('is a FullGraphError where %s', (_, run) => {
  const graph = toStatic(run, { fullGraph: true });
  expect(() => tidy(() => graph(tensor([1, 2]), []))).toThrow(FullGraphError);
  expect(outcome(toStatic(run), [1, 2])).toEqual(outcome(run, [1, 2]));
});

it('in code of any length', () => {
  const sums = Array.from({ length: 5_000 }, () => 'n += x.shape[0];').join(' ');
  const text = `return (x) => { if (x.shape[0] === 2) return x.mul(2); let n = 0; uptime(); ${sums} throw new Rejected(String(n), n); }`;
  const make = new Function('Rejected', 'uptime', text);
  const fn = make(Rejected, process.uptime) as (x: Tensor) => Tensor;
  const captured = toStatic(fn, { fullGraph: true, scope: { Rejected, uptime: process.uptime } });
  expect(() => captured(tensor([1, 2, 3]))).toThrow('15000');
});
