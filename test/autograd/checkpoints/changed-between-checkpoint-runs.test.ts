/** What the function of a checkpointed call reads may be replaced before backward, where eager execution reruns it. */

import { expect, it } from 'vitest';
import { Captured } from '../../../src/dispatch/captured-function.ts';
import {
  checkpoint,
  FullGraphError,
  rand,
  randn,
  seed,
  type Tensor,
  toStatic,
} from '../../../src/index.ts';

const [batch, width] = [4, 3];

interface State {
  w: Tensor;
  readonly v: Tensor;
  calls: number;
  readonly weights: Tensor[];
  readonly named: Map<string, Tensor>;
}

interface Case {
  /** The step of a state, which its `backward` ends. */
  readonly step: (state: State) => (x: Tensor) => Tensor;
  /** In one graph; otherwise the call is eager. */
  readonly isOne: boolean;
}

const cases: Readonly<Record<string, Case>> = {
  'a property that the body reads is replaced': {
    isOne: false,
    step: (state) => (x) => {
      const y = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), x);
      state.w = state.v;
      y.sum().backward();
      return y.detach();
    },
  },
  'a variable is assigned': {
    isOne: false,
    step: (state) => (x) => {
      let { w } = state;
      const y = checkpoint((a: Tensor) => a.matmul(w).tanh(), x);
      w = state.v;
      y.sum().backward();
      return y.detach();
    },
  },
  'an object that the step has created is changed': {
    isOne: false,
    step: (state) => (x) => {
      const own = { w: state.w };
      const y = checkpoint((a: Tensor) => a.matmul(own.w).tanh(), x);
      own.w = state.v;
      y.sum().backward();
      return y.detach();
    },
  },
  'an element of an array is replaced': {
    isOne: false,
    step:
      ({ weights, v }) =>
      (x) => {
        const y = checkpoint((a: Tensor) => a.matmul(weights[0]!).tanh(), x);
        weights[0] = v;
        y.sum().backward();
        return y.detach();
      },
  },
  'an entry of a Map is replaced': {
    isOne: false,
    step:
      ({ named, v }) =>
      (x) => {
        const y = checkpoint((a: Tensor) => a.matmul(named.get('w')!).tanh(), x);
        named.set('w', v);
        y.sum().backward();
        return y.detach();
      },
  },
  'the body takes another branch': {
    isOne: false,
    step: (state) => (x) => {
      const y = checkpoint((a: Tensor) => a.matmul(state.calls > 0 ? state.v : state.w).tanh(), x);
      state.calls = 1;
      y.sum().backward();
      state.calls = 0;
      return y.detach();
    },
  },
  'another block is replaced': {
    isOne: true,
    step: (state) => (x) => {
      const y = checkpoint(
        (a: Tensor) => checkpoint((b: Tensor) => b.matmul(state.v), a).tanh(),
        x,
      );
      state.w = state.v;
      y.sum().backward();
      return y.detach();
    },
  },
  'the body reads what is replaced by itself': {
    isOne: true,
    step: (state) => (x) => {
      const y = checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul(rand([width]))
            .tanh(),
        x,
      );
      const { w } = state;
      state.w = state.v;
      state.w = w;
      y.sum().backward();
      return y.add(rand([])).detach();
    },
  },
  'a counter and a list of losses are changed': {
    isOne: true,
    step: (state) => (x) => {
      const first = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), x);
      const second = checkpoint((a: Tensor) => a.matmul(state.w).exp(), first);
      state.calls++;
      const losses = [first.sum(), second.sum()];
      losses.push(losses[0]!.add(losses[1]!));
      losses.at(-1)!.backward();
      return second.detach();
    },
  },
  'the gradients are cleared': {
    isOne: true,
    step: (state) => (x) => {
      const y = checkpoint((a: Tensor) => a.matmul(state.w).tanh(), x);
      state.w.grad = null;
      y.sum().backward();
      return y.detach();
    },
  },
};

it.each(Object.entries(cases))('%s: as eagerly', (_name, { step, isOne }) => {
  const outcome = (isCaptured: boolean) => {
    seed(4);
    const [w, v] = [randn([width, width]).requiresGrad_(), randn([width, width]).requiresGrad_()];
    const state: State = { w, v, calls: 0, weights: [w, v], named: new Map([['w', w]]) };
    const fn = step(state);
    const captured = new Captured(fn as Captured['fn'], {});
    const call = (x: Tensor) => (isCaptured ? (captured.call(undefined, [x]) as Tensor) : fn(x));
    const bits = Array.from({ length: 3 }, () => {
      const result = call(randn([batch, width])).tolist();
      state.w = w;
      state.weights[0] = w;
      state.named.set('w', w);
      return [result, w.grad?.tolist(), v.grad?.tolist(), state.calls];
    });
    return { bits, breaks: captured.stats().breaks.length };
  };
  const own = outcome(true);
  expect(own.bits).toEqual(outcome(false).bits);
  expect(own.breaks === 0).toBe(isOne);
});

it('a backward that never runs throws nothing: fullGraph says why there is no one program', () => {
  const fn = (x: Tensor, w: Tensor) => {
    let by = x;
    by = checkpoint((a: Tensor) => a.mul(by).tanh(), w.mul(1));
    return by.detach();
  };
  const [x, w] = [randn([batch]), randn([batch]).requiresGrad_()];
  const expected = fn(x, w).tolist();
  expect(toStatic(fn)(x, w).tolist()).toEqual(expected);
  expect(toStatic(fn, { capture: 'auto' })(x, w).tolist()).toEqual(expected);
  const whole = toStatic(fn, { fullGraph: true });
  expect(() => whole(x, w)).toThrow(FullGraphError);
  expect(() => whole(x, w)).toThrow('checkpoint: the function did different work');
});

it('a body with a loop is compared after the function has returned', () => {
  const doubling = (a: Tensor) => {
    let h = a;
    for (let i = 0; i < 3 && h.abs().mean().itemSync() > 0.1; i++) {
      const copy = h.clone();
      copy.select(0, 0).mul_(2);
      h = copy.mul(0.5);
    }
    return h;
  };
  const make = () => {
    const state = { calls: 0 };
    const fn = (x: Tensor, w: Tensor) => {
      let y = x;
      for (const by of [1, 2]) y = checkpoint(doubling, w.mul(by));
      state.calls++;
      return y.mul(x);
    };
    return { state, fn };
  };
  const seen = (run: (x: Tensor, w: Tensor) => Tensor) => {
    seed(3);
    return [1, 2, 3].map(() => {
      const [x, w] = [rand([batch]), rand([batch]).requiresGrad_()];
      run(x, w).sum().backward();
      return w.grad!.tolist();
    });
  };
  const [eager, captured] = [make(), make()];
  expect(seen(toStatic(captured.fn, { fullGraph: true }))).toEqual(seen(eager.fn));
  expect(captured.state).toEqual(eager.state);
});
