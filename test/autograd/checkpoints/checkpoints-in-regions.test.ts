/** What a checkpointed call in a branch or loop reads may be replaced, there or afterwards, before backward reruns it. */

import { expect, it } from 'vitest';
import { checkpoint, randn, seed, type Tensor, toStatic } from '../../../src/index.ts';

interface State {
  w: Tensor;
  readonly v: Tensor;
  readonly named: Map<string, Tensor>;
  readonly weights: Tensor[];
  calls: number;
}

interface Case {
  /** A function whose result is differentiated after the call. */
  readonly fn: (state: State) => (x: Tensor) => Tensor;
  /** In one program; otherwise the call is eager where the body reads what has changed. */
  readonly isOne: boolean;
  /** In which a graph break separates the call from what replaces its tensors: no graph knows what later ones do. */
  readonly isCut?: true;
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
  'one of two names of a tensor is assigned afterwards': {
    isOne: false,
    fn:
      ({ w, v }) =>
      (x) => {
        let y = x;
        let [p, q, r] = [w, w, v];
        if (x.sum().itemSync() > -100) {
          y = checkpoint((a: Tensor) => a.matmul(p).tanh().matmul(q).tanh().matmul(r).tanh(), x);
        }
        q = r;
        return y.mul(2);
      },
  },
  'an element that occurs twice is replaced afterwards': {
    isOne: false,
    fn:
      ({ w, v }) =>
      (x) => {
        let y = x;
        const all = [w, w, v];
        if (x.sum().itemSync() > -100) {
          y = checkpoint((a: Tensor) => all.reduce((h, each) => h.matmul(each).tanh(), a), x);
        }
        all[1] = v;
        return y.mul(2);
      },
  },
  'the body reads NaN': {
    isOne: true,
    fn:
      ({ w }) =>
      (x) => {
        let y = x;
        const limit = Number.NaN;
        if (x.sum().itemSync() > -100) {
          y = checkpoint((a: Tensor) => a.matmul(w).where(a.gt(limit).logicalNot(), a).tanh(), x);
        }
        return y.mul(2);
      },
  },
  'the body contains a branch, and what it reads is replaced afterwards': {
    isOne: false,
    fn: (state) => (x) => {
      const y = checkpoint((a: Tensor) => {
        let h = a;
        if (h.sum().itemSync() > -100) h = h.matmul(state.weights[0]!).tanh();
        return h.matmul(state.weights[0]!).tanh();
      }, x);
      state.weights[0] = state.v;
      return y.mul(2);
    },
  },
  'the body counts its calls in a variable': {
    isOne: false,
    fn: () => (x) => {
      let count = 0;
      const leaf = x.detach().requiresGrad_();
      const y = checkpoint((a: Tensor) => {
        count++;
        return a.mul(count).tanh().sin();
      }, leaf);
      y.sum().backward();
      return leaf.grad!.mul(2);
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
  'a variable is assigned in each iteration, before the call': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      let { w } = state;
      for (let i = 0; isLarge(h, i); i++) {
        w = w.mul(0.5);
        h = checkpoint((a: Tensor) => a.matmul(w).tanh(), h);
      }
      return h;
    },
  },
  'a variable is assigned in each iteration of an outer loop': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      let { w } = state;
      for (let i = 0; isLarge(h, i); i++) {
        w = w.mul(0.5);
        for (let j = 0; isLarge(h, j); j++) h = checkpoint((a: Tensor) => a.matmul(w).tanh(), h);
      }
      return h;
    },
  },
  'a tensor is written in each iteration, before the call': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      const scale = state.v.detach().mul(1);
      for (let i = 0; isLarge(h, i); i++) {
        scale.mul_(0.5);
        h = checkpoint((a: Tensor) => a.matmul(state.w).add(scale.select(0, 0)).tanh(), h);
      }
      return h;
    },
  },
  'a property is replaced after a loop': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      for (let i = 0; isLarge(h, i); i++)
        h = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), h);
      state.w = state.v;
      return h.mul(2);
    },
  },
  'a variable is assigned after a branch': {
    isOne: false,
    fn: (state) => (x) => {
      let y = x;
      let { w } = state;
      if (x.sum().itemSync() > 0) y = checkpoint((a: Tensor) => a.matmul(w).tanh(), x);
      w = state.v;
      return y.mul(2);
    },
  },
  'an object of the function is changed after a branch in a loop': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      const own = { w: state.w };
      for (let i = 0; isLarge(h, i); i++) {
        if (h.sum().itemSync() > 0) h = checkpoint((a: Tensor) => a.matmul(own.w).tanh(), h);
        else h = h.mul(0.5);
      }
      own.w = state.v;
      return h.mul(2);
    },
  },
  'an object of a branch is changed after it': {
    isOne: false,
    fn: (state) => (x) => {
      let y = x;
      let kept = { w: state.v };
      if (x.sum().itemSync() > 0) {
        const own = { w: state.w };
        y = checkpoint((a: Tensor) => a.matmul(own.w).tanh(), x);
        kept = own;
      }
      kept.w = state.v;
      return y.mul(2);
    },
  },
  'an entry of a Map is replaced after a loop': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      for (let i = 0; isLarge(h, i); i++) {
        h = checkpoint((a: Tensor) => a.matmul(state.named.get('w')!).tanh(), h);
      }
      state.named.set('w', state.v);
      return h.mul(2);
    },
  },
  'an element of an array is replaced after a loop': {
    isOne: false,
    isCut: true,
    fn: (state) => (x) => {
      let h = x;
      for (let i = 0; isLarge(h, i); i++) {
        h = checkpoint((a: Tensor) => a.matmul(state.weights[0]!).tanh(), h);
      }
      state.weights[0] = state.v;
      return h.mul(2);
    },
  },
  'a branch assigns what its body reads, before the call': {
    isOne: true,
    fn: (state) => (x) => {
      let y = x;
      let { w } = state;
      if (x.sum().itemSync() > 0) {
        w = w.mul(2);
        y = checkpoint((a: Tensor) => a.matmul(w).tanh(), x);
      }
      return y.mul(2);
    },
  },
  'what the body reads is replaced after backward': {
    isOne: true,
    fn: (state) => (x) => {
      let h = x.matmul(state.v);
      for (let i = 0; isLarge(h, i); i++)
        h = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), h);
      h.sum().backward();
      state.w = state.v;
      return x.matmul(state.w);
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

it.each(Object.entries(cases))('%s: as eagerly', (_name, { fn, isOne, isCut }) => {
  const outcome = (options: { readonly capture?: 'auto' } | null) => {
    seed(4);
    const [w, v] = [randn([3, 3]).requiresGrad_(), randn([3, 3]).requiresGrad_()];
    const named = new Map([['w', w]]);
    const state: State = { w, v, named, weights: [w], calls: 0 };
    const captured = options && toStatic(fn(state), options);
    const run = captured ?? fn(state);
    const seen = Array.from({ length: 5 }, () => {
      const y = run(randn([4, 3]));
      let thrown = '';
      try {
        if (y.requiresGrad) y.sum().backward();
      } catch (error) {
        thrown = (error as Error).name;
      }
      state.w = w;
      named.set('w', w);
      state.weights[0] = w;
      return [y.tolist(), w.grad?.tolist(), v.grad?.tolist(), state.calls, thrown];
    });
    return { seen, stats: captured?.stats() };
  };
  const { seen } = outcome(null);
  if (!isCut) expect(outcome({}).seen).toEqual(seen);
  const own = outcome({ capture: 'auto' });
  expect(own.seen).toEqual(seen);
  const { breaks = [], fallbacks = [] } = own.stats ?? {};
  expect(breaks.length + fallbacks.length === 0).toBe(isOne);
});

it('a call in a branch is compared after another call has captured tensors of its own', () => {
  const make = () => {
    seed(4);
    const [w, v] = [randn([3]).requiresGrad_(), randn([3]).requiresGrad_()];
    const state = { calls: 0 };
    const fn = (x: Tensor) => {
      let h = x;
      if (x.mean().itemSync() < 10) {
        h = checkpoint((a: Tensor) => checkpoint((b: Tensor) => b.mul(w).tanh(), a).sin(), h);
        state.calls++;
        h = h.add(checkpoint((a: Tensor) => a.mul(v).sin(), h));
      }
      return h;
    };
    return { fn, seen: (y: Tensor) => [y.sum().backward(), w.grad!.tolist(), v.grad!.tolist()] };
  };
  const [eager, captured] = [make(), make()];
  const x = randn([3]);
  const run = toStatic(captured.fn, { fullGraph: true });
  expect(captured.seen(run(x))).toEqual(eager.seen(eager.fn(x)));
});

it('a body is traced again where the function has returned and ends in a graph break', () => {
  seed(4);
  const [w, v] = [randn([3]).requiresGrad_(), randn([3])];
  const weights = [w];
  const fn = (x: Tensor) => {
    const h = checkpoint((a: Tensor) => a.mul(weights[0]!).tanh(), x);
    for (let i = 0; i < 3 && w.sum().itemSync() > -10; i++) weights.push(v);
    return h;
  };
  const x = randn([3]);
  const y = toStatic(fn, { capture: 'auto' })(x);
  expect(y.tolist()).toEqual(x.mul(w).tanh().tolist());
});
