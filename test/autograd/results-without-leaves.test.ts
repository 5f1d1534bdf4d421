/** Gradients of results that lead to no leaf, since they have been overwritten: hooks, `.grad` and `grad` see them. */

import { describe, expect, it } from 'vitest';
import {
  grad,
  memory,
  type Tensor,
  type ToStaticOptions,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { values, weights } from '../trace/same-as-eager.ts';

type Body = (x: Tensor, w: Tensor) => Tensor[];

const overwritten = (x: Tensor, w: Tensor): Tensor => x.mul(w).copy_(x.add(1));

const bodies: Record<string, Body> = {
  'a view of it': (x, w) => {
    const t = overwritten(x, w);
    return [t, t.select(0, 1)];
  },
  'a function of it': (x, w) => {
    const t = overwritten(x, w);
    const u = t.tanh();
    return [t, u, u.exp().sum()];
  },
  'a function of it and of a weight': (x, w) => {
    const t = overwritten(x, w);
    const u = t.tanh();
    return [t, u, u.mul(w).sum()];
  },
  'beside a result that leads to a weight': (x, w) => {
    const t = w.mul(x);
    const u = t.mul(0).copy_(t.detach());
    return [t, u, u.mul(t).sum()];
  },
};

const uses: Record<string, (results: Tensor[], w: Tensor, log: unknown[]) => void> = {
  hooks: (results, _, log) => {
    for (const each of results) each.registerHook((g) => void log.push(g.tolist()));
    results.at(-1)!.sum().backward();
  },
  'a hook that replaces it': (results, _, log) => {
    results[1]!.registerHook((g) => g.mul(3));
    results[0]!.registerHook((g) => void log.push(g.tolist()));
    results.at(-1)!.sum().backward();
  },
  'retained gradients': (results, _, log) => {
    for (const each of results) each.retainGrad();
    results.at(-1)!.sum().backward();
    log.push(results.map((each) => each.grad?.tolist()));
  },
  grad: (results, _, log) => {
    const found = grad(results.at(-1)!.sum(), results.slice(0, -1), { allowUnused: true });
    log.push(found.map((each) => each?.tolist()));
  },
  'gradients of a weight only': (results, w, log) => {
    results[0]!.registerHook((g) => void log.push(g.tolist()));
    results
      .at(-1)!
      .sum()
      .backward(undefined, { inputs: [w] });
  },
  'a recorded backward': (results, _, log) => {
    for (const each of results) each.registerHook((g) => void log.push(g.tolist()));
    results.at(-1)!.sum().backward(undefined, { createGraph: true });
  },
  'two backwards': (results, _, log) => {
    results[0]!.registerHook((g) => void log.push(g.tolist()));
    results.at(-1)!.sum().backward(undefined, { retainGraph: true });
    results[0]!.sum().backward(undefined, { retainGraph: true });
  },
};

function outcome(body: Body, use: (typeof uses)[string], options: ToStaticOptions | null): unknown {
  const fn = options ? toStatic(body, options) : body;
  const log: unknown[] = [];
  for (let call = 0; call < 2; call++) {
    const w = weights([2, 3]);
    try {
      use(fn(values([2, 3], call), w), w, log);
    } catch (error) {
      log.push((error as Error).message.split('\n')[0]);
    }
    log.push(w.grad?.tolist() ?? null);
  }
  return log;
}

describe.each(Object.entries(bodies))('%s', (_, body) => {
  it.each(Object.entries(uses))('%s', (_, use) => {
    for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as ToStaticOptions[]) {
      expect(outcome(body, use, mode)).toEqual(outcome(body, use, null));
    }
  });
});

it('gradients that only hooks have seen are freed', () => {
  const step = toStatic((x: Tensor, w: Tensor) => {
    const t = overwritten(x, w);
    return [t, t.exp()];
  });
  const run = () =>
    tidy(() => {
      const [t, u] = step(values([2, 3]), weights([2, 3]));
      t!.registerHook(() => {});
      u!.sum().backward();
    });
  run();
  const before = memory.stats().allocated;
  run();
  expect(memory.stats().allocated).toBe(before);
});
