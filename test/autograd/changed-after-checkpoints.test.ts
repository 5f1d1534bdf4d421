/**
 * Code after a captured call, or after a graph break in it, may change what the function of a `checkpoint` call reads.
 * Eager backward runs that function again and reads the new value; a program has computed with the old one.
 */

import { expect, it } from 'vitest';
import { checkpoint, nn, randn, seed, type Tensor, toStatic } from '../../src/index.ts';

const [batch, width] = [2, 3];

class State {
  readonly weights = [randn([width, width]), randn([width, width])].map((w) => w.requiresGrad_());
  w = this.weights[0]!;
  readonly v = this.weights[1]!;
  scale = 2;
  calls = 0;
  layer = new nn.Linear(width, width);
  readonly named = new Map([['w', this.w]]);
  readonly options: Record<string, number> = { a: 1 };
  own: { w: Tensor } | null = null;
  readonly pushed: Tensor[] = [];
  list: Tensor[] = [];
  lists = new Map<string, Tensor[]>();
  flags: Record<string, number> = {};
  weak = new WeakMap<object, Tensor>();

  block = (a: Tensor): Tensor => a.matmul(this.w).mul(this.scale).tanh();
}

interface Case {
  /** Whether backward throws. */
  readonly differs: boolean;
  readonly fn: (state: State) => (x: Tensor) => Tensor;
  /** Runs between the call and backward. */
  readonly between?: (state: State) => void;
}

/** Ends the graph. */
const opaque = new Proxy((..._: unknown[]) => {}, {});

let shared = 2;

const cases: Readonly<Record<string, Case>> = {
  'another property is changed': {
    differs: false,
    fn: (state) => (x) => {
      state.calls++;
      return checkpoint(state.block, x);
    },
    between: (state) => {
      state.calls = 7;
    },
  },
  'a tensor is replaced': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: (state) => {
      state.w = state.v;
    },
  },
  'a number is changed': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: (state) => {
      state.scale = 3;
    },
  },
  'a number that the call itself sets is changed again': {
    differs: true,
    fn: (state) => (x) => {
      state.scale = 5;
      return checkpoint(state.block, x);
    },
    between: (state) => {
      state.scale = 3;
    },
  },
  'a variable of a module is assigned': {
    differs: true,
    fn: (state) => (x) => checkpoint((a: Tensor) => a.matmul(state.w).mul(shared).tanh(), x),
    between: () => {
      shared++;
    },
  },
  'a weight is frozen': {
    differs: true,
    fn:
      ({ block }) =>
      (x) =>
        checkpoint(block, x),
    between: ({ w }) => {
      w.requiresGrad_(false);
    },
  },
  'an element is replaced': {
    differs: true,
    fn:
      ({ weights }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(weights[0]!).tanh(), x),
    between: ({ weights, v }) => {
      weights[0] = v;
    },
  },
  'a property is added to an object whose keys are counted': {
    differs: true,
    fn:
      ({ w, options }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(w).mul(Object.keys(options).length).tanh(), x),
    between: ({ options }) => {
      options[`key${Object.keys(options).length}`] = 1;
    },
  },
  'an entry is added to a Map that is listed': {
    differs: true,
    fn:
      ({ named }) =>
      (x) =>
        checkpoint((a: Tensor) => [...named.values()].reduce((y, w) => y.matmul(w), a).tanh(), x),
    between: ({ named, v }) => {
      named.set(`w${named.size}`, v);
    },
  },
  'an entry of a Map is replaced': {
    differs: true,
    fn:
      ({ named }) =>
      (x) =>
        checkpoint((a: Tensor) => a.matmul(named.get('w')!).tanh(), x),
    between: ({ named, v }) => {
      named.set('w', v);
    },
  },
  'a layer is replaced that the function reads': {
    differs: true,
    fn: (state) => (x) => checkpoint((a: Tensor) => state.layer.forward(a).tanh(), x),
    between: (state) => {
      state.layer = new nn.Linear(width, width);
    },
  },
  'a layer is replaced that the function has received': {
    differs: false,
    fn: (state) => (x) => {
      const { layer } = state;
      return checkpoint((a: Tensor) => layer.forward(a).tanh(), x);
    },
    between: (state) => {
      state.layer = new nn.Linear(width, width);
    },
  },
  'a variable is assigned behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      let scale = 2;
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scale).tanh(), x);
      opaque();
      scale = 3;
      return y;
    },
  },
  'a variable is assigned its value behind a graph break': {
    differs: false,
    fn: (state) => (x) => {
      let scale = 2;
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scale).tanh(), x);
      opaque();
      scale = 2;
      return y;
    },
  },
  'a property of an object of the call is changed behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      const own = { scale: 2, calls: 0 };
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(own.scale).tanh(), x);
      opaque(own);
      own.scale++;
      return y;
    },
  },
  'another property of it is changed': {
    differs: false,
    fn: (state) => (x) => {
      const own = { scale: 2, calls: 0 };
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(own.scale).tanh(), x);
      opaque(own);
      own.calls++;
      return y;
    },
  },
  'a list of the call is changed behind a graph break': {
    differs: true,
    fn: (state) => (x) => {
      const scales = [2, 3];
      const y = checkpoint((a: Tensor) => a.matmul(state.w).mul(scales[0]!).tanh(), x);
      opaque(scales);
      scales[0] = 3;
      return y;
    },
  },
  'an object of the call is changed after it': {
    differs: true,
    fn: (state) => (x) => {
      const own = { w: state.w };
      state.own = own;
      return checkpoint((a: Tensor) => a.matmul(own.w).tanh(), x);
    },
    between: ({ own, v }) => {
      own!.w = v;
    },
  },
  'an element that the call appends is replaced': {
    differs: true,
    fn: (state) => (x) => {
      state.pushed.push(state.w);
      return checkpoint((a: Tensor) => a.matmul(state.pushed.at(-1)!).tanh(), x);
    },
    between: ({ pushed, v }) => {
      pushed[pushed.length - 1] = v;
    },
  },
  'an entry that the call sets is replaced': {
    differs: true,
    fn:
      ({ named, w }) =>
      (x) => {
        named.set('set', w);
        return checkpoint((a: Tensor) => a.matmul(named.get('set')!).tanh(), x);
      },
    between: ({ named, v }) => {
      named.set('set', v);
    },
  },
  'an entry that the call sets is deleted': {
    differs: true,
    fn:
      ({ named, w }) =>
      (x) => {
        named.set('set', w);
        return checkpoint(
          (a: Tensor) =>
            a
              .matmul(w)
              .mul(named.has('set') ? 2 : 3)
              .tanh(),
          x,
        );
      },
    between: ({ named }) => {
      named.delete('set');
    },
  },
  'an element of a list that the call assigns is replaced': {
    differs: true,
    fn: (state) => (x) => {
      state.list = [state.w];
      return checkpoint((a: Tensor) => a.matmul(state.list[0]!).tanh(), x);
    },
    between: ({ list, v }) => {
      list[0] = v;
    },
  },
  'an element of a list in a Map of the call is replaced': {
    differs: true,
    fn: (state) => (x) => {
      const lists = new Map([['k', [state.w]]]);
      state.lists = lists;
      return checkpoint((a: Tensor) => a.matmul(lists.get('k')![0]!).tanh(), x);
    },
    between: ({ lists, v }) => {
      lists.get('k')![0] = v;
    },
  },
  'a property that an object of the call lacks is added': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = {};
      state.flags = flags;
      return checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul(flags.more ? 2 : 3)
            .tanh(),
        x,
      );
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'a key that an object of the call lacks is added': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = {};
      state.flags = flags;
      return checkpoint(
        (a: Tensor) =>
          a
            .matmul(state.w)
            .mul('more' in flags ? 2 : 3)
            .tanh(),
        x,
      );
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'an object of the call whose keys are counted gets another': {
    differs: true,
    fn: (state) => (x) => {
      const flags: Record<string, number> = { one: 1 };
      state.flags = flags;
      const count = () => Object.keys(flags).length;
      return checkpoint((a: Tensor) => a.matmul(state.w).mul(count()).tanh(), x);
    },
    between: ({ flags }) => {
      flags.more = 1;
    },
  },
  'a WeakMap of the call is read': {
    differs: false,
    fn: (state) => (x) => {
      const weak = new WeakMap<object, Tensor>([[state.layer, state.w]]);
      state.weak = weak;
      return checkpoint((a: Tensor) => a.matmul(weak.get(state.layer)!).tanh(), x);
    },
  },
  'only another result is differentiated': {
    differs: false,
    fn: (state) => (x) => {
      state.own = { w: checkpoint(state.block, x) };
      return x.matmul(state.v).tanh();
    },
    between: (state) => {
      state.scale = 3;
    },
  },
  'what an iteration reads is changed': {
    differs: true,
    fn:
      ({ block }) =>
      (x) => {
        let y = x;
        for (let i = 0; i < 3 && y.abs().sum().itemSync() > 1e-9; i++) y = checkpoint(block, y);
        return y;
      },
    between: (state) => {
      state.scale = 3;
    },
  },
};

const modes = [{}, { capture: 'auto' }] as const;

it.each(Object.entries(cases))('%s', (_name, { fn, between, differs }) => {
  const outcome = (wrap: (fn: (x: Tensor) => Tensor) => (x: Tensor) => Tensor) => {
    seed(4);
    shared = 2;
    const state = new State();
    const { w, v, layer } = state;
    const call = wrap(fn(state));
    return [1, 2].map(() => {
      const result = call(randn([batch, width]));
      between?.(state);
      let error = '';
      try {
        result.sum().backward();
      } catch (thrown) {
        error = String(thrown);
      }
      Object.assign(state, { w: w.requiresGrad_(), scale: 2, layer });
      state.weights[0] = w;
      state.named.set('w', w);
      return { error, bits: [w, v, layer.weight].map(({ grad }) => grad?.tolist()) };
    });
  };
  const eager = outcome((each) => each);
  for (const mode of modes) {
    const captured = outcome((each) => toStatic(each, mode));
    if (!differs) expect(captured).toEqual(eager);
    else
      for (const { error } of captured) expect(error).toContain('it reads what has changed since');
  }
});
