/** What a checkpointed call in a branch or loop reads may be replaced there, before backward reruns it. */

import { expect, it } from 'vitest';
import { checkpoint, randn, seed, type Tensor, toStatic } from '../../src/index.ts';

interface State {
  w: Tensor;
  readonly v: Tensor;
  calls: number;
}

interface Case {
  /** A function whose result is differentiated after the call. */
  readonly fn: (state: State) => (x: Tensor) => Tensor;
  /** In one program; otherwise the call is eager where the body reads what has changed. */
  readonly isOne: boolean;
}

const isLarge = (h: Tensor, i: number): boolean => i < 4 && h.abs().mean().itemSync() > 0.02;

const cases: Readonly<Record<string, Case>> = {
  'a variable is assigned in each iteration': {
    isOne: false,
    fn: (state) => (x) => {
      let h = x;
      let { w } = state;
      for (let i = 0; isLarge(h, i); i++) {
        h = checkpoint((a: Tensor) => a.matmul(w).tanh(), h);
        w = w.mul(0.5);
      }
      return h;
    },
  },
  'the body reads a variable that is assigned its own result': {
    isOne: false,
    fn: (state) => (x) => {
      let h = x;
      for (let i = 0; isLarge(h, i); i++) h = checkpoint(() => h.matmul(state.w).tanh());
      return h;
    },
  },
  'a property is replaced in a branch': {
    isOne: false,
    fn: (state) => (x) => {
      let y = x;
      if (x.sum().itemSync() > 0) {
        y = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), x);
        state.w = state.v;
      }
      return y.mul(2);
    },
  },
  'each iteration passes what its body reads': {
    isOne: true,
    fn: (state) => (x) => {
      let h = x;
      for (let i = 0; isLarge(h, i); i++) {
        h = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), h);
        state.calls++;
      }
      return h;
    },
  },
  'a branch passes what its body reads': {
    isOne: true,
    fn: (state) => (x) => {
      let y = x.mul(1);
      if (x.sum().itemSync() > 0) y = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), y);
      return y.mul(2);
    },
  },
};

it.each(Object.entries(cases))('%s: as eagerly', (_name, { fn, isOne }) => {
  const outcome = (options: { readonly capture?: 'auto' } | null) => {
    seed(4);
    const [w, v] = [randn([3, 3]).requiresGrad_(), randn([3, 3]).requiresGrad_()];
    const state: State = { w, v, calls: 0 };
    const captured = options && toStatic(fn(state), options);
    const run = captured ?? fn(state);
    const seen = Array.from({ length: 5 }, () => {
      const y = run(randn([4, 3]));
      let thrown = '';
      try {
        y.sum().backward();
      } catch (error) {
        thrown = (error as Error).name;
      }
      state.w = w;
      return [y.detach().tolist(), w.grad?.tolist(), v.grad?.tolist(), state.calls, thrown];
    });
    return { seen, stats: captured?.stats() };
  };
  const { seen } = outcome(null);
  expect(outcome({}).seen).toEqual(seen);
  const own = outcome({ capture: 'auto' });
  expect(own.seen).toEqual(seen);
  const { breaks = [], fallbacks = [] } = own.stats ?? {};
  expect(breaks.length + fallbacks.length === 0).toBe(isOne);
});
