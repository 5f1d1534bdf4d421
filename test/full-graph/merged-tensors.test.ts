/** Tensors that branches and loops leave: their memory, layout, identity, and whether they require gradients. */

import { describe, expect, it } from 'vitest';
import {
  CaptureError,
  FullGraphError,
  noGrad,
  randn,
  seed,
  Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';

type Fn = (x: Tensor, m: Tensor, w: Tensor) => unknown;

const modes: readonly [string, ToStaticOptions][] = [
  ['one program', { fullGraph: true }],
  ['auto', { capture: 'auto' }],
  ['breaks', {}],
];

const matrix = () => {
  seed(5);
  return randn([3, 3]).mul(100).detach();
};

/** Sums that take one branch or the other, a few times over. */
const decisions = [-20, 20, 70, 120];

const argumentsFor = (decision: number, transposed: boolean): [Tensor, Tensor, Tensor] => {
  const m = matrix();
  return [tensor([decision, 1, -1]), transposed ? m.t() : m, matrix().requiresGrad_()];
};

/** Values, layouts, requiresGrad, and which of them are one tensor. */
function described(values: readonly unknown[]): string[] {
  return values.map((value, i) => {
    if (!(value instanceof Tensor)) return String(value);
    const first = values.indexOf(value);
    if (first < i) return `the same as ${first}`;
    const { dtype, shape, strides, isContiguous, requiresGrad } = value;
    const layout = isContiguous ? 'contiguous' : strides.join();
    return `${dtype} [${shape}] ${layout} ${requiresGrad} ${[...value.dataSync()]}`;
  });
}

/** What arrays and objects hold, in their order. */
function parts(value: unknown): unknown[] {
  if (value instanceof Tensor || typeof value !== 'object' || value === null) return [value];
  return Object.values(value).flatMap(parts);
}

function outcomeOf(fn: Fn, decision: number, transposed: boolean): string[] {
  return tidy(() => {
    const given = argumentsFor(decision, transposed);
    const found = fn(...given);
    const result = parts(found);
    const state = described([...given, ...result]);
    const roots = new Set(result.filter((each) => each instanceof Tensor && each.requiresGrad));
    for (const root of roots as Set<Tensor>) root.sum().backward(undefined, { retainGraph: true });
    return [...state, ...described(given.map(({ grad }) => grad))];
  });
}

function expectSame(fn: Fn): void {
  for (const [mode, options] of modes) {
    const captured = toStatic(fn, options);
    for (const transposed of [false, true, false]) {
      for (const decision of decisions) {
        const expected = outcomeOf(fn, decision, transposed);
        expect({ mode, found: outcomeOf(captured, decision, transposed) }).toEqual({
          mode,
          found: expected,
        });
      }
    }
    if (mode === 'one program') expect(captured.stats().breaks).toEqual([]);
  }
}

const above = (x: Tensor, limit = 0): boolean => x.sum().itemSync() > limit;

describe('memory and layout', () => {
  const cases: Record<string, Fn> = {
    'a column or another tensor, written afterwards': (x) => {
      const buffer = zeros([3, 3]);
      let c: Tensor = buffer.select(1, 0);
      if (above(x, 60)) c = x;
      c.copy_(x);
      return [buffer.sum(), c];
    },
    'a transposed view or the tensor itself': (_x, m) => {
      let c = m.t();
      if (above(_x)) c = m;
      c.add_(1);
      return [m.sum(0), c.sum(0), c];
    },
    'views of one memory at different places': (x, m) => {
      let c = m.narrow(1, 0, 2);
      if (above(x)) c = m.narrow(1, 1, 2);
      c.mul_(2);
      return [m.sum(1), c];
    },
    'a view whose place a loop moves': (x, m) => {
      let c = m.select(1, 0);
      let turns = 0;
      while (above(x, turns * 50)) {
        c.add_(1);
        c = turns === 0 ? m.select(1, 1) : c.mul(2);
        turns++;
      }
      c.copy_(x);
      return m.sum(0);
    },
    'a strided or an expanded one, in a field': (x, m) => {
      const held: { t: Tensor } = { t: x.expand([3, 3]) };
      if (above(x)) held.t = m.t().mul(2).t();
      return [held.t.softmax(0), held.t];
    },
    'branches inside one another': (x, m) => {
      let c = m.t();
      if (above(x)) {
        if (above(x, 60)) c = m;
        else c = c.add(1);
        c.mul_(2);
      }
      return [c, m.mul(1)];
    },
    'reductions of what was merged round as before': (x, m, w) => {
      let c = m.t();
      if (above(x)) c = w.t();
      return [c.sum(), c.sum(0), c.mean(1), c.matmul(w).sum(0)];
    },
    'with a gradient through each': (x, m, w) => {
      let c = w.t();
      if (above(x)) c = m.mul(w);
      return c.mul(w).add(c.t()).sum(0);
    },
  };
  it.each(Object.entries(cases))('%s', (_, fn) => {
    expectSame(fn);
  });
});

describe('identity', () => {
  const cases: Record<string, Fn> = {
    'an argument, strided or not': (x, m) => {
      let c = m;
      if (above(x)) c = m.mul(2);
      return c;
    },
    'an argument or a view that lies as it does': (x, m) => {
      let c = m;
      if (above(x)) c = m.narrow(0, 0, 3);
      return c;
    },
    'two names of one result': (x, m) => {
      const y = m.mul(2);
      let z = y;
      if (above(x)) z = m.mul(3);
      return [y, z];
    },
    'two names that a branch gives one result': (x, m) => {
      let y = m;
      let z = m.add(1);
      if (above(x)) {
        const both = m.mul(3);
        y = both;
        z = both;
      }
      return [y, z];
    },
    'views that change places, taken anew in each iteration': (x, m, w) => {
      let [a, b, c]: Tensor[] = [m, w, m.narrow(1, 0, 3).t()];
      for (let i = 0; i < 2; i++) {
        c = c!.t();
        if (above(x, i * 45)) break;
        [a, b, c] = [b!, c, a!];
        b = m.narrow(1, 0, 3).t();
      }
      return [a, b, c];
    },
    'variables that change places': (x, m, w) => {
      let [a, b, c, d]: Tensor[] = [m, w, w.add(2), m.add(1)];
      for (let i = 0; above(x, i * 30 - 100); i++) [a, b, c, d] = [b!, c!, d!, a!];
      return [a, b, c, d];
    },
    'a tensor and another one on its memory': (x, m) => {
      let [a, b] = [m.detach(), m];
      if (above(x)) [a, b] = [b, a];
      if (above(x, 60)) b = a.detach();
      return [a, b];
    },
    'a leaf of its own': (x, m) => {
      const y = m.mul(2);
      y.requiresGrad_();
      let b = m;
      if (above(x)) b = y;
      return [b, y];
    },
    'elements of a list: arguments, results and other elements': (x, m, w) => {
      const out: Tensor[] = [];
      const pairs: { a: Tensor; b: Tensor }[] = [];
      const [p, v] = [m.contiguous(), w.detach()];
      let h = p;
      for (let i = 0; above(x, i * 45); i++) {
        out.push(i > 1 ? v : p, h);
        h = v.mul(2);
        out.push(h);
        pairs.push({ a: p, b: h });
      }
      return [h, out, pairs];
    },
    'what is read of a list': (x, m, w) => {
      const out: Tensor[] = [];
      const [p, v] = [m.contiguous(), w.detach()];
      for (let i = 0; above(x, i * 45 - 30); i++) out.push(i > 1 ? v : p);
      let last = p;
      for (const each of out) last = each;
      return [last, out[0], out];
    },
    'the best of several': (x, m) => {
      let y = m.mul(1);
      let best = y;
      let turns = 0;
      while (above(x, turns * 45)) {
        y = y.add(1);
        if (turns !== 1) best = y;
        turns++;
      }
      return [y, best];
    },
  };
  it.each(Object.entries(cases))('%s', (_, fn) => {
    expectSame(fn);
  });
});

describe('requiresGrad', () => {
  const cases: Record<string, Fn> = {
    'asked behind a branch': (x, _m, w) => {
      let t = w.mul(3);
      if (above(x)) t = noGrad(() => w.mul(2));
      return [t.requiresGrad ? t.mul(2) : t.mul(10), t.isLeaf];
    },
    'of a result that has met a parameter on one path': (x, m, w) => {
      let y = m;
      if (above(x)) y = m.mul(w);
      return [y.mul(2), y];
    },
    'of a result that has met one in an iteration': (x, m, w) => {
      let y = m.mul(0.5);
      let turns = 0;
      while (above(x, turns * 50)) {
        y = y.mul(w);
        turns++;
      }
      return [y, y.sum()];
    },
    'asked in the iteration': (x, m, w) => {
      let y = m.mul(0.5);
      let recorded = 0;
      let turns = 0;
      while (above(x, turns * 50)) {
        if (y.requiresGrad) recorded++;
        y = y.mul(w);
        turns++;
      }
      return [y, recorded];
    },
    'of branches inside loops': (x, m, w) => {
      let y = m.mul(0.5);
      let turns = 0;
      while (above(x, turns * 50)) {
        if (turns === 1) y = y.mul(w);
        else if (above(y, 10)) y = y.detach();
        turns++;
      }
      return y.mul(0.1);
    },
  };
  it.each(Object.entries(cases))('%s', (_, fn) => {
    expectSame(fn);
  });

  it('backward() of what may have no graph is refused where it has none', () => {
    const fn = (x: Tensor, m: Tensor, w: Tensor) => {
      let y = m;
      if (above(x)) y = m.mul(w);
      y.sum().backward();
      return w.grad;
    };
    const thrown = (run: Fn, decision: number) => {
      try {
        return outcomeOf(run, decision, false);
      } catch (error) {
        return (error as Error).name;
      }
    };
    const captured = toStatic(fn, { fullGraph: true });
    for (const decision of [...decisions, ...decisions]) {
      expect(thrown(captured, decision)).toEqual(thrown(fn, decision));
    }
  });
});

describe('a write through which gradients flow', () => {
  const writes: Record<string, Fn> = {
    'to what may be a leaf': (x, m, w) => {
      let c = m;
      if (above(x)) c = w;
      c.add_(1);
      return c;
    },
    'to what may be another result': (x, _, w) => {
      const y = w.mul(2);
      let c = y;
      if (above(x)) c = w.mul(3);
      c.mul_(2);
      return [c, y];
    },
  };
  it.each(Object.entries(writes))('%s is no program', (_, fn) => {
    const captured = toStatic(fn, { fullGraph: true });
    expect(() => captured(...argumentsFor(20, false))).toThrow(FullGraphError);
  });

  it('to what only one path at a time has made is one', () => {
    expectSame((x, _, w) => {
      let c = w;
      if (above(x)) c = w.mul(3);
      else c = w.mul(2);
      c.mul_(2);
      return c;
    });
  });
});

describe('a write to what may be a saved value', () => {
  it('is no program where the value was saved inside of branches of a loop', () => {
    const fn = (x: Tensor, m: Tensor, w: Tensor) => {
      let y = m;
      for (let i = 0; i < 2; i++) {
        y = w.sub(m).tanh();
        if (above(x, i * 45)) break;
      }
      noGrad(() => y.copy_(m));
      return y;
    };
    const captured = toStatic(fn, { fullGraph: true });
    expect(() => captured(...argumentsFor(20, false))).toThrow(
      'a value that backward needs is written in place',
    );
  });

  it('is no program, since backward would read what was written', () => {
    const fn = (x: Tensor, m: Tensor, w: Tensor) => {
      const saved = m.mul(1);
      let c = saved;
      if (above(x)) c = m.mul(2);
      const product = saved.mul(w);
      c.add_(1);
      return product;
    };
    const [x, m, w] = argumentsFor(20, false);
    const captured = toStatic(fn, { fullGraph: true });
    const thrown = (() => {
      try {
        return captured(x, m, w);
      } catch (error) {
        return error;
      }
    })();
    expect(thrown instanceof CaptureError || thrown instanceof FullGraphError).toBe(true);
    expect((thrown as Error).message).toContain('a value that backward needs is written in place');
  });
});
