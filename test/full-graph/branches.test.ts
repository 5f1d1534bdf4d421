/** Conformance 74–83: decisions as branches of one program. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor } from '../../src/index.ts';
import { sameAsEager as check } from './suite.ts';

/** With `capture: 'auto'` and with graph breaks, too. */
const sameAsEager: typeof check = (fn, inputs, options) =>
  check(fn, inputs, { auto: 'fewer', ...options });
const x = (...values: number[]) => tensor(values).requiresGrad_();

describe('branches of one program', () => {
  it('if and else on a mean (74)', () => {
    const f = (x: Tensor) => {
      let y = x.mul(2);
      if (x.mean().lt(5).itemSync()) y = y.add(1);
      else y = y.exp();
      return y.sum();
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(10, 20)], () => [x(3, 4)]]);
  });

  it('nested three deep (75)', () => {
    const f = (x: Tensor) => {
      let y = x;
      if (x.sum().itemSync() > 0) {
        y = y.mul(2);
        if (x.sum().itemSync() > 10) {
          y = y.sin();
          if (x.sum().itemSync() > 100) y = y.cos();
          else y = y.sub(3);
        }
      } else {
        y = y.neg();
      }
      return y.mul(x);
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(10, 20)], () => [x(300, 4)], () => [x(-3, -4)]]);
  });

  it('variables born in both branches and used after (76)', () => {
    const f = (x: Tensor) => {
      let a: Tensor;
      let b: number;
      if (x.sum().itemSync() > 0) {
        a = x.mul(2);
        b = 3;
      } else {
        const c = x.add(1);
        a = c.mul(c);
        b = 4;
      }
      return a.mul(b);
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)]]);
  });

  it('a variable of one branch that nobody uses later (77)', () => {
    const f = (x: Tensor) => {
      let y = x;
      if (x.sum().itemSync() > 0) {
        const unused = x.mul(5);
        y = unused.sum().mul(x);
      }
      return y.mul(2);
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)]]);
  });

  it('conditions joined by and, or, not; tensors and null and host values mixed (78)', () => {
    const f = (x: Tensor, mask: Tensor | null, flag: boolean) => {
      let y = x;
      if (mask && x.sum().itemSync() > 0) y = y.mul(mask);
      if (flag || x.sum().itemSync() > 5) y = y.add(1);
      if (!(x.sum().itemSync() > 2)) y = y.mul(3);
      const z = x.sum().itemSync() > 0 && x.sum().itemSync() < 100;
      return z ? y : y.neg();
    };
    const m = () => tensor([0.5, 2]);
    sameAsEager(f, [
      () => [x(1, 2), m(), false],
      () => [x(9, 2), m(), false],
      () => [x(-9, 2), m(), false],
      () => [x(200, 2), m(), false],
    ]);
    sameAsEager(f, [
      () => [x(1, 2), null, true],
      () => [x(-9, 2), null, true],
      () => [x(200, 2), null, true],
      () => [x(1, 0.5), null, true],
    ]);
  });

  it('early returns in a chain (79)', () => {
    const f = (x: Tensor) => {
      const s = x.sum().itemSync();
      if (s > 100) return x.mul(2);
      else if (s > 10) return x.mul(3);
      else if (s > 0) {
        const y = x.exp();
        return y.add(1);
      }
      return x.neg();
    };
    const inputs = [
      [200, 1],
      [20, 1],
      [2, 1],
      [-2, 1],
    ];
    sameAsEager(
      f,
      inputs.map((each) => () => [x(...each)]),
    );
  });

  it('a host decision keeps its shape (82)', () => {
    const f = (x: Tensor) => {
      const y = x.shape[0]! > 2 ? x.mul(2) : x.mul(3);
      return x.sum().itemSync() > 0 ? y : y.neg();
    };
    const inputs = [
      [() => [x(1, 2)], () => [x(-1, -2)]],
      [() => [x(1, 2, 3)], () => [x(-1, -2, 1)]],
    ];
    for (const each of inputs) {
      const { graph } = sameAsEager(f, each);
      // The host has decided: one branch for the other decision.
      const ops = graph.programs()[0]!.stages!.traced.ops.map(({ op }) => op.name);
      expect(ops.filter((name) => name === 'cond')).toHaveLength(1);
    }
  });

  it('results in structures keep them (83)', () => {
    const f = (x: Tensor) => {
      if (x.sum().itemSync() > 0)
        return { a: x.mul(2), rest: [x.add(1), 7], n: x.sum().itemSync() };
      return { a: x.neg(), rest: [x.sub(1), 8], n: 0.5 };
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)]]);
  });

  it('objects and closures of the function changed in a branch', () => {
    const f = (x: Tensor) => {
      const state = { y: x, count: 0, list: [x, x.add(1)] };
      const bump = (by: Tensor) => {
        state.count++;
        state.y = state.y.add(by);
      };
      if (x.sum().itemSync() > 0) {
        bump(x);
        state.list[1] = x.exp();
      } else {
        bump(x.mul(2));
        bump(x);
      }
      return [state.y.mul(state.list[1]!), state.count];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)]]);
  });

  it('pre-existing objects changed in a branch', () => {
    const f = (x: Tensor, state: { total: Tensor; calls: number }) => {
      if (x.sum().itemSync() > 0) {
        state.total = state.total.add(x);
        state.calls = state.calls + 1;
      }
      return x.mul(2);
    };
    const state = () => ({ total: tensor([1, 1]), calls: 0 });
    const plain = (...values: number[]) => tensor(values);
    sameAsEager(f, [() => [plain(1, 2), state()], () => [plain(-1, -2), state()]]);
  });

  it('numbers read, computed with and handed to ops and out', () => {
    const f = (x: Tensor) => {
      const s = x.sum().itemSync();
      let n = s * 2 + 1;
      if (n > 5) n = Math.floor(n / 3);
      else n = -n;
      return [x.mul(n), n, n % 4, n === 2, Math.max(n, 1)];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)], () => [x(7.3, 2)]]);
  });

  it('decisions in callees, methods and arrows', () => {
    const helper = (x: Tensor, limit: number): Tensor => {
      if (x.max().itemSync() > limit) return x.mul(0.5);
      return x;
    };
    const model = {
      scale: 3,
      forward(x: Tensor): Tensor {
        return helper(helper(x, 10), 4).mul(this.scale);
      },
    };
    const f = (x: Tensor) => [x, x.add(1)].map((each) => model.forward(each))[1]!;
    sameAsEager(f, [() => [x(1, 2)], () => [x(5, 6)], () => [x(50, 6)]]);
  });

  it('returning an argument from one branch', () => {
    const f = (x: Tensor) => (x.sum().itemSync() > 0 ? x : x.mul(2));
    sameAsEager(f, [() => [tensor([-1, -2])], () => [tensor([-3, -2])], () => [tensor([1, 2])]]);
  });

  it('constants, null and strings that both branches agree on', () => {
    const f = (x: Tensor) => {
      let name = 'start';
      let y = x;
      let extra: Tensor | null = null;
      if (x.sum().itemSync() > 0) {
        name = 'end';
        y = x.mul(2);
      } else {
        name = 'end';
        y = x.mul(3);
      }
      if (extra) extra = y;
      return [name, y, extra];
    };
    sameAsEager(f, [() => [x(1, 2)], () => [x(-1, -2)]]);
  });
});
