/** Code between graphs that recurs runs on machines, up to instructions that may have tensor ops. */

import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { HostMachines } from '../../src/dispatch/native-parts/host-machines.ts';
import { OwnedTensors } from '../../src/dispatch/ownership/owned-tensors.ts';
import { noGrad, type Tensor, tensor, tidy, toStatic } from '../../src/index.ts';
import { OpSites } from '../../src/traces/op-sites.ts';
import type { Frame, Scope } from '../../src/vm/bytecode/frame.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import type { Machine } from '../../src/vm/frames/machine.ts';
import { stopped } from '../../src/vm/frames/stopped.ts';
import { lowerChecked } from '../lower/parse-function.ts';
import { allocated } from '../ops/eager.ts';
import { expectSameAsEager } from '../trace/same-as-eager.ts';

const scope: Scope = {
  get: () => undefined,
  has: () => false,
  set: () => {},
  reader: () => () => undefined,
  isConstant: () => false,
};
const code = lowerChecked(
  '(n, x, f) => { let s = 0; for (let i = 0; i < n; i++) s += i; f(x); return s; }',
);
const call = code.instructions.findIndex(({ op }) => op === 'call');
const begin = (...args: readonly unknown[]): Frame =>
  activate({ code, scope, cells: [] }, undefined, args);

describe('a part', () => {
  let sites: OpSites;
  let machines: HostMachines;
  beforeEach(() => {
    sites = new OpSites();
    machines = new HostMachines(sites);
    for (let pc = 0; pc < call; pc++) machines.noteStep(code, pc);
  });
  const findOften = (frame = begin(10, 0), owned = new OwnedTensors()): Machine | undefined => {
    let found: Machine | undefined;
    for (let visit = 0; visit < 20; visit++) found = machines.find(frame, owned);
    return found;
  };

  it('runs up to the first instruction that is not known', () => {
    const frame = begin(10, 0);
    const machine = findOften(frame);
    expect(machine!(frame)).toBe(stopped);
    expect([frame.pc, frame.registers.includes(45)]).toEqual([call, true]);
  });

  it('ends before a call of a function that returns another number each time', () => {
    machines.noteStep(code, call);
    const frame = begin(10, 0, Math.random);
    findOften(frame)!(frame);
    expect(frame.pc).toBe(call);
  });

  it('is not compiled before its start recurs', () => {
    expect(machines.find(begin(10, 0), new OwnedTensors())).toBeUndefined();
  });

  it('does not run in a frame with tensors', () => {
    expect(findOften(begin(10, tensor([1])))).toBeUndefined();
  });

  it('ends where tensor ops were met later', () => {
    findOften();
    const test = code.instructions.findIndex(({ op }) => op === 'jumpIfNot');
    sites.noteOp([{ closure: { code }, pc: test }]);
    const frame = begin(10, 0);
    findOften(frame)!(frame);
    expect(frame.pc).toBe(test);
  });

  it('is not compiled again after it has run a tensor op', () => {
    findOften();
    machines.forget(code);
    expect(findOften()).toBeUndefined();
  });

  it('goes on where it stopped often, once that is known', () => {
    const frame = begin(10, 0, () => {});
    const first = findOften(frame)!;
    machines.noteStep(code, call);
    for (let stop = 0; stop < 20; stop++) machines.noteStop({ ...begin(), pc: call }, 0);
    const again = findOften(frame)!;
    expect(again).not.toBe(first);
    again(frame);
    expect(code.instructions[frame.pc]!.op).toBe('return');
  });
});

describe('captured functions with much code between graphs', () => {
  let find: MockInstance<HostMachines['find']>;
  beforeEach(() => {
    find = vi.spyOn(HostMachines.prototype, 'find');
  });
  afterEach(() => {
    // Parts did run on machines.
    expect(find.mock.results.filter(({ value }) => value).length).toBeGreaterThan(1);
    find.mockRestore();
  });

  const w = tensor([
    [0.5, -1, 0.25],
    [1, 0.5, -0.5],
    [-0.25, 1, 0.75],
  ]);
  /** Chooses a column by its share, as in sampling. */
  const sample = (shares: readonly number[], random: () => number): number => {
    const order = [...shares.keys()].sort((a, b) => shares[b]! - shares[a]!);
    const kept: number[] = [];
    let sum = 0;
    for (const index of order) {
      kept.push(index);
      sum += shares[index]!;
      if (sum > 0.9) break;
    }
    let rest = random() * sum;
    for (const index of kept) {
      rest -= shares[index]!;
      if (rest < 0) return index;
    }
    return kept[0]!;
  };

  it('have the results of eager execution', () => {
    const generate = (first: number, count: number) => {
      let state = first + 1;
      const random = () => {
        state = (state * 16_807) % 2_147_483_647;
        return state / 2_147_483_647;
      };
      const tokens = [first];
      while (tokens.length < count) {
        const row = w.select(0, tokens.at(-1)!).softmax(0).toArraySync() as number[];
        tokens.push(sample(row, random));
      }
      return tokens;
    };
    const captured = toStatic(generate);
    for (let first = 0; first < 3; first++) {
      expect(captured(first, 40)).toEqual(generate(first, 40));
    }
  });

  it('also when a loop that had none meets a tensor op, or throws', () => {
    const run = (limit: number, at: number) => {
      let x = tensor([1, 2, 3]);
      const log: (number | string)[] = [];
      for (let i = 0; i < limit; i++) {
        const values = x.matmul(w).tanh().toArraySync() as number[];
        let sum = 0;
        for (const [index, value] of values.entries()) {
          if (i * 3 + index === at) x = x.add(value);
          try {
            if (i * 3 + index === at + 4) throw new Error(`at ${i}`);
            sum += Math.round(value * 8);
          } catch (error) {
            log.push((error as Error).message);
          }
        }
        log.push(sum);
        x = tensor([sum % 3, i % 2, 1]).add(x.mul(0.5));
      }
      return [x, log];
    };
    const limits = [
      [30, 200],
      [30, 70],
      [40, 85],
      [30, 1],
    ];
    expectSameAsEager(() => ({ fn: run, args: (call) => limits[call]! }), { calls: limits.length });
  });

  it('also when a call that recurs gets a function that returns another number each time', () => {
    const captured = toStatic((x: Tensor, fn: (value: number) => number) =>
      fn(x.matmul(w).exp().sum().itemSync()),
    );
    const x = tensor([[0.5, 0.25, 1]]);
    const { floor, ceil, round, trunc, abs, sin, cos, tan, exp, log, log2, log10, sqrt } = Math;
    const { cbrt, sign, fround, atan, sinh, cosh, tanh, asinh, expm1, log1p, clz32 } = Math;
    const fns = [floor, ceil, round, trunc, abs, sin, cos, tan, exp, log, log2, log10, sqrt, cbrt];
    for (const fn of [...fns, sign, fround, atan, sinh, cosh, tanh, asinh, expm1, log1p, clz32]) {
      expect(captured(x, fn)).toBe(fn(x.matmul(w).exp().sum().itemSync()));
    }
    expect(captured(x, Math.random)).toBeLessThan(1);
  });

  it('also when its arrows use `this`, which holds a tensor of the call', () => {
    class Sums {
      readonly start: Tensor;
      constructor(start: Tensor) {
        this.start = start;
      }
      later(y: Tensor, count: number): ((z: Tensor) => Tensor)[] {
        const first = y.itemSync();
        let total = 0;
        const list: ((z: Tensor) => Tensor)[] = [];
        for (let i = 0; i < count; i++) {
          total += Math.floor(first * i) % 7;
          list[i] = (z) => this.start.add(z).add(total);
        }
        return list;
      }
    }
    const step = (x: Tensor, count: number) => {
      const start = x.matmul(w).tanh().matmul(w).exp();
      const list = new Sums(start).later(x.matmul(w).exp().sum().mul(3.7), count);
      const y = x.matmul(w).exp();
      return list[1]!(y.mul(y.sum().itemSync()));
    };
    const captured = toStatic(step);
    for (let call = 0; call < 40; call++) {
      const x = tensor([[0.01 * call, 0.3 - 0.004 * call, 0.5]]);
      const count = 3 + ((call * 7) % 40);
      expect(captured(x, count).tolist()).toEqual(step(x, count).tolist());
    }
  });
});

describe('what code between graphs puts into objects', () => {
  const step = {
    'an object in an object': (s: Tensor, i: number) => {
      const cache = [s.mul(2), s.mul(3)];
      const line = `${Math.round(s.sum().itemSync() * 1000)} of ${i}`;
      const entry = { cache, line };
      return [
        Object.keys(entry).length + line.length,
        entry.cache[0]!.add(entry.cache[1]!),
      ] as const;
    },
    'a tensor that an object of the call holds as well': (
      s: Tensor,
      i: number,
      keep: { last: Tensor },
    ) => {
      keep.last = s;
      const pair = [s, i];
      const line = `${Math.round(s.sum().itemSync() * 1000)} of ${i}`;
      return [Object.keys(pair).length + line.length, keep.last.mul(2)] as const;
    },
  };
  const w = tensor([
    [0.5, -0.25],
    [0.3, 0.9],
  ]);

  it.each(Object.entries(step))('%s: its memory is freed in the call', (_name, body) => {
    const run = (x: Tensor, count: number) =>
      noGrad(() => {
        const keep = { last: x.mul(2) };
        let [total, s] = [0, x];
        for (let i = 0; i < count; i++) {
          const [length, next] = body(s.matmul(w).tanh().exp().matmul(w), i, keep);
          total += length;
          s = next.mul(0.1).tanh();
        }
        return [total, s] as const;
      });
    const captured = toStatic(run);
    for (let call = 0; call < 4; call++) {
      using x = tensor([[0.1 * call, 0.3]]);
      const before = allocated();
      const [total, s] = captured(x, 40);
      expect(allocated() - before).toBe(64);
      const [expected, last] = tidy(() => run(x, 40));
      expect([total, s.tolist()]).toEqual([expected, last.tolist()]);
      s.dispose();
      last.dispose();
    }
  });
});
