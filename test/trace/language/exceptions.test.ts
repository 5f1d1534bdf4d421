/** try, catch and finally in captured functions: eager execution is the oracle. */

import { describe, expect, it } from 'vitest';
import { crossEntropy, type Tensor, tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

const fail = Array.prototype.reduce.bind([]) as unknown as (f: () => void) => never;

describe('try in a captured function', () => {
  it('costs nothing when nothing is thrown', () => {
    const { graphs, breaks } = expectSameAsEager(() => {
      const seen: string[] = [];
      return {
        fn: (x: Tensor) => {
          let y = x;
          try {
            y = x.mul(2);
            if (y.shape[0] === 3) return y.relu();
          } catch (e) {
            seen.push(String(e));
          } finally {
            y = y.add(1);
          }
          return y;
        },
        args: (call) => [weights([call < 2 ? 3 : 4])],
        state: () => seen,
      };
    });
    expect([graphs, breaks]).toEqual([2, 0]);
  });

  it('is traced through a throw that a captured frame catches', () => {
    const { graphs, breaks } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const check = (t: Tensor) => {
          for (const size of t.shape) {
            try {
              if (size === 3) throw 'three';
            } finally {
              t = t.add(1);
            }
          }
          return t;
        };
        let y = x.mul(2);
        try {
          y = check(y);
        } catch (e) {
          if (e === 'three') return y.neg();
          throw e;
        }
        return y.relu();
      },
      args: (call) => [weights([2, call % 2 ? 3 : 4])],
    }));
    expect([graphs, breaks]).toEqual([2, 0]);
  });

  it('goes on at the handler after native code has thrown', () => {
    const { graphs, reasons } = expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        const inner = (t: Tensor) => {
          const doubled = t.mul(2);
          fail(() => {});
          return doubled;
        };
        let y = x.add(1);
        try {
          y = inner(y);
        } catch (e) {
          return [y.mul(3).relu(), (e as Error).message];
        }
        return [y, ''];
      },
      args: () => [weights([3])],
    }));
    expect(graphs).toBe(2);
    expect(reasons).toContain('native-call');
  });

  it('sees the error of an op', () => {
    const { reasons } = expectSameAsEager(() => ({
      fn: (x: Tensor, y: Tensor) => {
        try {
          return x.mul(2).matmul(y);
        } catch (e) {
          return [(e as Error).name, x.neg()];
        }
      },
      args: (call) => [weights([2, 3]), values([call === 1 ? 3 : 2, 2])],
    }));
    expect(reasons).toContain('op-error');
  });

  it('sees the error of a kernel, in its own place', () => {
    expectSameAsEager(
      () => {
        const log: unknown[] = [];
        return {
          fn: (x: Tensor, labels: Tensor) => {
            let step = 'before';
            try {
              const y = x.mul(2);
              step = 'loss';
              const loss = crossEntropy(y, labels);
              step = 'after';
              return loss;
            } catch (e) {
              log.push(step, (e as Error).name);
              return x.neg();
            } finally {
              log.push('finally');
            }
          },
          args: (call) => [weights([2, 3]), tensor(new Int32Array([0, call === 1 ? 7 : 2]))],
          state: () => log,
        };
      },
      { calls: 3 },
    );
  });

  it('rethrows what it does not know', () => {
    expectSameAsEager(() => ({
      fn: (x: Tensor) => {
        try {
          x.mul(2).matmul(values([7, 7]));
        } catch (e) {
          if (e instanceof RangeError) return x;
          throw e;
        }
        return x;
      },
      args: () => [weights([2, 3])],
    }));
  });

  it('closes iterators that were open around a break', () => {
    expectSameAsEager(() => {
      const log: string[] = [];
      const items = {
        *[Symbol.iterator]() {
          try {
            yield 1;
            yield 2;
          } finally {
            log.push('closed');
          }
        },
      };
      return {
        fn: (x: Tensor) => {
          let y = x;
          try {
            for (const item of items) {
              y = y.mul(item + 1);
              if (item === 2) throw 'stop';
            }
          } catch (e) {
            log.push(String(e));
          }
          return y.relu();
        },
        args: () => [weights([3])],
        state: () => log,
      };
    });
  });

  it('keeps the pending completion over breaks in every part', () => {
    const { stats, translations } = expectSameAsEager(
      () => {
        const log: unknown[] = [];
        const note = log.push.bind(log) as (...notes: unknown[]) => number;
        return {
          fn: (x: Tensor, mode: number) => {
            let y = x.mul(2);
            for (const round of [0, 1, 2]) {
              try {
                y = y.add(1);
                note('try', round);
                if (mode === 1 && round === 1) return y;
                if (mode === 2 && round === 1) break;
                if (mode === 3) continue;
                if (mode === 4 && round === 2) throw new Error('four');
                if (mode === 5) (null as unknown as Tensor).relu();
                y = y.mul(2);
              } catch (e) {
                note((e as Error).message);
                if (round === 2) throw e;
              } finally {
                y = y.neg();
                note('finally', round);
                y = y.mul(3);
              }
            }
            return [y, mode];
          },
          args: (call) => [values([3]), call % 6],
          state: () => log,
        };
      },
      { calls: 18 },
    );
    expect(stats.fallbacks).toEqual([]);
    expect(translations[17]).toBe(translations[11]);
  });
});
