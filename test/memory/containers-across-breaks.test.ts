/**
 * Tensors in arrays, objects, Maps and Sets that a captured function makes cross graph breaks: they are given back
 * when no frame leads to them, and stay where anything else does.
 */

import { describe, expect, it } from 'vitest';
import {
  breakGraph,
  grad,
  memory,
  noGrad,
  ones,
  randn,
  seed,
  Tensor,
  toStatic,
} from '../../src/index.ts';

type Fn = (x: Tensor) => unknown;

const weight = ones([2, 3]).requiresGrad_();

class State {
  constructor(
    readonly h: Tensor,
    readonly c: Tensor,
  ) {}
  next(x: Tensor): State {
    return new State(this.h.add(x).tanh(), this.c.mul(this.h));
  }
}

/** Only the function's own frames hold what it makes: nothing is left after a call but its result. */
const own: Readonly<Record<string, Fn>> = {
  'an array': (x) => {
    const both = [x.mul(2), x.add(1)];
    breakGraph();
    return both[0]!.add(both[1]!);
  },
  'an array, part of which is returned': (x) => {
    const both = [x.mul(2), x.add(1)];
    breakGraph();
    return both[1];
  },
  'an object that is replaced in a loop': (x) => {
    let state = { h: x.mul(1), c: x.mul(2) };
    for (let i = 0; i < 3; i++) {
      state = { h: state.h.tanh(), c: state.c.add(state.h) };
      breakGraph();
    }
    return state.h;
  },
  'instances of a class': (x) => {
    let state = new State(x.mul(1), x.mul(2));
    for (let i = 0; i < 3; i++) {
      breakGraph();
      state = state.next(x);
    }
    return state.c;
  },
  'objects in arrays': (x) => {
    const layers = [1, 2].map((k) => ({ k, out: x.mul(k), parts: [x.add(k)] }));
    breakGraph();
    const sums = layers.map(({ out, parts }) => out.add(parts[0]!));
    breakGraph();
    return sums[0]!.add(sums[1]!);
  },
  'an array that grows between breaks': (x) => {
    const all: Tensor[] = [];
    for (let i = 0; i < 3; i++) {
      all.push(x.mul(i));
      breakGraph();
    }
    return all.reduce((sum, each) => sum.add(each));
  },
  'an array that shrinks between breaks': (x) => {
    const all = [x.mul(1), x.mul(2), x.mul(3)];
    breakGraph();
    const last = all.pop()!;
    breakGraph();
    return last.add(all[0]!);
  },
  'a property that is replaced': (x) => {
    const state: { h: Tensor } = { h: x.mul(1) };
    for (let i = 0; i < 3; i++) {
      state.h = state.h.tanh();
      breakGraph();
    }
    return state.h.add(1);
  },
  'a Map and a Set': (x) => {
    const map = new Map([['a', x.mul(1)]]);
    const set = new Set([x.mul(2)]);
    breakGraph();
    map.set('b', map.get('a')!.add(1));
    for (const each of set) map.set('c', each.add(1));
    breakGraph();
    return [...map.values()].reduce((sum, each) => sum.add(each));
  },
  'one tensor in a register and in an array': (x) => {
    const y = x.mul(2);
    const all = [y, y];
    breakGraph();
    const z = y.exp();
    breakGraph();
    return z.add(all[0]!).add(y);
  },
  'an array that two others hold': (x) => {
    const inner = [x.mul(2)];
    let [a, b]: [Tensor[][], Tensor[][]] = [[inner], [inner]];
    breakGraph();
    a = [];
    breakGraph();
    const sum = b[0]![0]!.add(a.length);
    b = [];
    breakGraph();
    return sum;
  },
  'a cycle of objects': (x) => {
    const node: { value: Tensor; self?: unknown } = { value: x.mul(2) };
    node.self = node;
    breakGraph();
    return node.value.add(1);
  },
  'gradients that grad() returns': (x) => {
    const loss = weight.mul(weight).mul(x).sum();
    breakGraph();
    const [g] = grad(loss, [weight]);
    breakGraph();
    return noGrad(() => g!.mul(0.5));
  },
  'a variable that an arrow has captured': (x) => {
    const y = x.mul(2);
    const f = () => y.add(1);
    breakGraph();
    const z = f();
    breakGraph();
    return noGrad(() => z.mul(y));
  },
  'a captured variable that is assigned again': (x) => {
    let state = x.mul(1);
    const advance = () => {
      state = state.tanh();
    };
    for (let i = 0; i < 3; i++) {
      advance();
      breakGraph();
    }
    return state.add(1);
  },
  'methods of an object literal': (x) => {
    const model = {
      w: x.mul(2),
      apply(y: Tensor) {
        return this.w.mul(y);
      },
    };
    breakGraph();
    return [1, 2].map((k) => model.apply(x.add(k)))[1];
  },
  'an exception that is caught': (x) => {
    const kept = [x.mul(2)];
    try {
      breakGraph();
      throw new RangeError('no');
    } catch {
      breakGraph();
      return kept[0]!.add(1);
    }
  },
};

const outer: { held: unknown; list: unknown[] } = { held: null, list: [] };
let later: () => Tensor;

/** Something else holds what the function makes, which must stay. */
const escaping: Readonly<Record<string, { readonly fn: Fn; readonly after: () => unknown }>> = {
  'stored in an outer object before the break': {
    fn: (x) => {
      const both = [x.mul(2), x.add(1)];
      outer.held = both;
      breakGraph();
      return both[0]!.add(1);
    },
    after: () => outer.held,
  },
  'stored in an outer object after the break': {
    fn: (x) => {
      const both = { a: [x.mul(2)], b: x.add(1) };
      breakGraph();
      outer.held = both.a;
      return both.b;
    },
    after: () => outer.held,
  },
  'an element is stored': {
    fn: (x) => {
      const both = [x.mul(2), x.add(1)];
      breakGraph();
      outer.list = [both[1]];
      return both[0];
    },
    after: () => outer.list,
  },
  'captured by a function that is called later': {
    fn: (x) => {
      const both = [x.mul(2), x.add(1)];
      later = () => both[0]!.add(both[1]!);
      breakGraph();
      return both[1];
    },
    after: () => later(),
  },
  'captured after the break': {
    fn: (x) => {
      const both = [x.mul(2), x.add(1)];
      breakGraph();
      later = () => both[0]!.add(both[1]!);
      return null;
    },
    after: () => later(),
  },
  'captured by a function in an object that is stored': {
    fn: (x) => {
      const y = x.mul(2);
      const model = { w: x.add(1), call: () => y.add(model.w) };
      breakGraph();
      outer.held = model;
      later = model.call;
      return y.mul(1);
    },
    after: () => later(),
  },
  'a property of a function': {
    fn: (x) => {
      const f = Object.assign(() => 1, { memo: x.mul(2) });
      breakGraph();
      outer.list = [f];
      return f.memo.add(1);
    },
    after: () => (outer.list as { memo: Tensor }[])[0]!.memo,
  },
  'a getter of an object': {
    fn: (x) => {
      const y = x.mul(2);
      const model = {
        get doubled() {
          return y.mul(2);
        },
      };
      breakGraph();
      return model.doubled;
    },
    after: () => null,
  },
  'a prototype that the function has made': {
    fn: (x) => {
      const base = { w: x.mul(2) };
      const model = Object.create(base) as typeof base;
      breakGraph();
      return model.w.add(1);
    },
    after: () => null,
  },
  'handed to native code': {
    fn: (x) => {
      const both = [x.mul(2), x.add(1)];
      structuredHold(both);
      return both[0]!.add(1);
    },
    after: () => outer.held,
  },
  'returned inside others': {
    fn: (x) => {
      const inner = [x.mul(2)];
      breakGraph();
      return { inner, map: new Map([['k', inner]]), sum: inner[0]!.add(1) };
    },
    after: () => null,
  },
  'put into an array of the caller': {
    fn: (x) => {
      const state = { h: x.mul(2) };
      breakGraph();
      outer.list.push(state);
      breakGraph();
      state.h = state.h.add(1);
      return state.h.mul(1);
    },
    after: () => outer.list,
  },
  'an iterator that is under way': {
    fn: (x) => {
      const all = [x.mul(1), x.mul(2), x.mul(3)];
      const iterator = all.values();
      iterator.next();
      breakGraph();
      const second = iterator.next().value!;
      breakGraph();
      return [second, iterator.next().value];
    },
    after: () => null,
  },
  'a generator that is under way': {
    fn: (x) => {
      function* parts() {
        const both = [x.mul(2), x.add(1)];
        yield both[0]!;
        yield both[1]!;
      }
      const generator = parts();
      const first = generator.next().value as Tensor;
      breakGraph();
      return first.add(generator.next().value as Tensor);
    },
    after: () => null,
  },
};

const structuredHold = Reflect.set.bind(null, outer, 'held') as unknown as (value: unknown) => void;

const shown = (value: unknown): unknown => {
  if (value instanceof Tensor) return [value.shape, value.toArraySync()];
  if (value instanceof Map) return [...value].map(shown);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(shown);
};

const bytes = () => memory.stats('cpu').allocated;

describe('what only the function holds is given back', () => {
  it.each(Object.entries(own))('%s', (_name, fn) => {
    seed(1);
    const captured = toStatic(fn, { fallback: 'error' });
    for (let call = 0; call < 4; call++) {
      const x = randn([2, 3]);
      const eager = shown(fn(x));
      const before = bytes();
      const result = captured(x) as Tensor;
      expect(shown(result)).toEqual(eager);
      result.dispose();
      expect(bytes() - before, `call ${call}`).toBe(0);
      x.dispose();
    }
    expect(captured.stats().breaks).not.toEqual([]);
  });
});

describe('what something else holds stays', () => {
  it.each(Object.entries(escaping))('%s', (_name, { fn, after }) => {
    seed(1);
    const captured = toStatic(fn, { fallback: 'error' });
    for (let call = 0; call < 4; call++) {
      const x = randn([2, 3]);
      const observe = (run: Fn) => {
        Object.assign(outer, { held: null, list: [] });
        const result = shown(run(x));
        return [result, shown(after())];
      };
      const eager = observe(fn);
      expect(observe(captured), `call ${call}`).toEqual(eager);
    }
    expect(captured.stats().breaks).not.toEqual([]);
  });
});
