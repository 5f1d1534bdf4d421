/** What captured code makes to stay, with `keep()` or by what calls it, outlives a `tidy` around the call. */

import { describe, expect, it } from 'vitest';
import {
  arange,
  keep,
  type LoadedProgram,
  load,
  nn,
  optim,
  save,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tensorSpec,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { describeValues } from '../trace/snapshot.ts';

type Wrap = <F extends (...args: never[]) => unknown>(fn: F) => F;

/** What one call does, and everything that it leaves behind. */
interface Kept {
  readonly run: () => unknown;
  readonly state: unknown;
}

const given = (scale = 1) => tensor([1 * scale, -2 * scale]);

function optimizerStep(w: Tensor, optimizer: optim.Optimizer) {
  return (x: Tensor) => {
    optimizer.zeroGrad();
    const loss = w.mul(x).sum();
    loss.backward();
    optimizer.step();
    return loss;
  };
}

const cases: Readonly<Record<string, (wrap: Wrap) => Kept>> = {
  'a result of an op': (wrap) => {
    const kept: Tensor[] = [];
    const f = wrap((x: Tensor) => {
      const y = x.exp();
      kept.push(keep(y), y.sum());
      return x.add(1);
    });
    return { run: () => f(given()), state: kept };
  },
  'a result of an op in a tidy of its own': (wrap) => {
    const kept: Tensor[] = [];
    const f = wrap((x: Tensor) =>
      tidy(() => {
        const y = x.exp();
        kept.push(keep(y));
        return y.sum();
      }),
    );
    return { run: () => f(given()), state: kept };
  },
  'an argument': (wrap) => {
    const kept: Tensor[] = [];
    const f = wrap((x: Tensor) => {
      kept.push(keep(x));
      return x.add(1);
    });
    return { run: () => f(given()), state: kept };
  },
  'a view': (wrap) => {
    const kept: Tensor[] = [];
    const f = wrap((x: Tensor) => {
      kept.push(keep(x.exp().narrow(0, 0, 1)));
    });
    return { run: () => f(given()), state: kept };
  },
  'what crosses a graph break': (wrap) => {
    const kept: Tensor[] = [];
    const f = wrap((x: Tensor) => {
      const y = keep(x.exp());
      const z = x.mul(2);
      if ((y.sum().itemSync() as number) > 0) kept.push(y, keep(z));
      return y.add(z);
    });
    return { run: () => f(given()), state: kept };
  },
  'what a branch has made': (wrap) => {
    const state: { h: Tensor | null } = { h: null };
    const f = wrap((x: Tensor) => {
      const old = state.h;
      const next = (x.sum().itemSync() as number) > -2 ? keep(x.exp()) : keep(x.mul(3));
      state.h = old ? keep(next.add(old)) : next;
      return x.add(1);
    });
    let calls = 0;
    return { run: () => f(given(++calls)), state };
  },
  'what iterations have made': (wrap) => {
    const state: { last?: Tensor; all?: Tensor[] } = {};
    const pushed: Tensor[] = [];
    const f = wrap((x: Tensor) => {
      const all: Tensor[] = [];
      let h = x.abs();
      while ((h.sum().itemSync() as number) < 20) {
        h = keep(h.mul(2));
        all.push(h);
        pushed.push(keep(h.add(1)));
      }
      state.last = h;
      state.all = all;
      return x.add(1);
    });
    return { run: () => f(given()), state: [state, pushed] };
  },
  'what some paths make': (wrap) => {
    const state: { h: Tensor | null } = { h: null };
    const entries = new Map<string, Tensor>();
    const f = wrap((x: Tensor) => {
      state.h = (x.sum().itemSync() as number) > -2 ? keep(x.exp()) : null;
      if ((x.sum().itemSync() as number) > -3) entries.set('a', keep(x.mul(2)));
      else entries.delete('a');
      return x.add(1);
    });
    let calls = 0;
    return { run: () => f(given(++calls)), state: [state, entries] };
  },
  'what has a shape that data decides': (wrap) => {
    const state: { h?: Tensor; g?: Tensor } = {};
    const f = wrap((x: Tensor) => {
      const n = x.abs().sum().itemSync() as number;
      state.h = keep(arange(n).mul(2));
      state.g = n > 4 ? keep(arange(n).add(1)) : keep(arange(n + 2));
      return x.add(1);
    });
    let calls = 0;
    return { run: () => f(given(++calls)), state };
  },
  'a state that each call replaces': (wrap) => {
    const state: { h: Tensor | null } = { h: null };
    const f = wrap((x: Tensor) => {
      const old = state.h;
      state.h = keep(old ? old.mul(0.5).add(x) : x.clone());
      old?.dispose();
      return state.h.sum();
    });
    return { run: () => f(given()), state };
  },
  'a layer that the first call makes': (wrap) => {
    const state: { layer: nn.Linear | null } = { layer: null };
    const f = wrap((x: Tensor) => {
      state.layer ??= new nn.Linear(2, 2);
      const loss = state.layer.forward(x).sum();
      loss.backward();
      return loss;
    });
    return { run: () => f(given()), state };
  },
  'a parameter, its gradient, and a buffer': (wrap) => {
    const state: { p?: Tensor; b?: Tensor } = {};
    const f = wrap((x: Tensor) => {
      state.p ??= nn.parameter(x.mul(0));
      state.b ??= nn.buffer(x.add(1));
      state.p.mul(x).sum().backward();
      return x.add(state.p).add(state.b).sum();
    });
    return { run: () => f(given()), state };
  },
  'the velocity of a momentum that starts late': (wrap) => {
    const w = nn.parameter(tensor([1, 1]));
    const optimizer = new optim.SGD([w], { lr: 0.1 });
    const f = wrap(optimizerStep(w, optimizer));
    let calls = 0;
    const run = () => {
      if (calls++ === 2) optimizer.groups[0]!.momentum = 0.9;
      return f(given());
    };
    return { run, state: [w, optimizer.stateDict()] };
  },
  'the state of parameters that are added': (wrap) => {
    const [w, v] = [nn.parameter(tensor([1, 1])), nn.parameter(tensor([2, 1]))];
    const optimizer = new optim.Adam([w], { lr: 0.1 });
    const step = optimizerStep(w, optimizer);
    const f = wrap((x: Tensor, adds: boolean) => {
      if (adds) optimizer.addParamGroup({ params: [v] });
      return step(x.add(v));
    });
    let calls = 0;
    return { run: () => f(given(), calls++ === 1), state: [w, v] };
  },
};

const modes: Readonly<Record<string, ToStaticOptions>> = {
  'with graph breaks': {},
  'as one program': { fullGraph: true },
  'with branches of the program': { capture: 'auto' },
  'checked, within a budget': { check: 2, memory: { budget: 0 } },
};

function observed(make: (wrap: Wrap) => Kept, wrap: Wrap, depth: number): unknown[] {
  seed(1);
  const { run, state } = make(wrap);
  const inTidy = (body: () => unknown, n: number): unknown =>
    n === 0 ? body() : tidy(() => inTidy(body, n - 1));
  return Array.from({ length: 5 }, () => {
    const result = inTidy(run, depth);
    return describeValues([result, state]);
  });
}

describe.each(Object.entries(modes))('what stays after a tidy, %s', (_mode, options) => {
  it.each(Object.entries(cases))('%s', (_name, make) => {
    for (const depth of [0, 1, 2]) {
      const eager = observed(make, (fn) => fn, depth);
      const captured = observed(
        make,
        ((fn) => toStatic(fn, { strict: true, ...options })) as Wrap,
        depth,
      );
      expect(captured, `in ${depth} tidies`).toEqual(eager);
    }
  });
});

it('a loaded program keeps it, too', async () => {
  const f = toStatic(
    (state: { h: Tensor; free: Tensor }) => {
      state.h = keep(state.h.mul(2));
      state.free = state.h.add(1);
      return state.h.sum();
    },
    { fullGraph: true, inputSpec: [{ h: tensorSpec([2]), free: tensorSpec([2]) }] },
  );
  const states = () => ({ h: tensor([1, 2]), free: tensor([0, 0]) });
  tidy(() => f(states()));
  const loaded = (await load(await save(f))) as LoadedProgram;
  for (const run of [f, loaded] as const) {
    const state = states();
    tidy(() => run(state));
    expect(state.h.tolist()).toEqual([2, 4]);
    expect(state.free.disposed).toBe(true);
  }
});
