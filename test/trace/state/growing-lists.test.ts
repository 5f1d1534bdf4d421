/** Arrays of tensors that grow with every call and are handed over whole: one trace serves every length. */

import { describe, expect, it } from 'vitest';
import {
  cat,
  nn,
  noGrad,
  rand,
  seed,
  stack,
  type Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

const row = (call: number) => values([1, 3], call);

/** One array that the function pushes to. */
function pushed(body: (cache: Tensor[], x: Tensor) => unknown): () => World {
  return () => {
    const cache: Tensor[] = [];
    return { fn: (x: Tensor) => body(cache, x), args: (call) => [row(call)], state: () => cache };
  };
}

/** One array that each call gets from the one before. */
function threaded(next: (cache: readonly Tensor[], x: Tensor) => Tensor[]): () => World {
  return () => {
    let cache: Tensor[] = [];
    return {
      fn: (x: Tensor, given: Tensor[]) => {
        const all = next(given, x);
        return [cat(all).sum().add(all.length), all];
      },
      args: (call) => [row(call), cache],
      install: (fn) => (x: Tensor, given: Tensor[]) => {
        const result = fn(x, given) as [Tensor, Tensor[]];
        cache = result[1];
        return result;
      },
      state: () => cache,
    };
  };
}

const programs: Record<string, () => World> = {
  'pushed to, then joined': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat(cache);
  }),
  'joined, then pushed to': pushed((cache, x) => {
    const before = cache.length > 0 ? cat(cache).sum(0, { keepDim: true }) : x;
    cache.push(x.add(before));
    return before;
  }),
  'joined with others around it': pushed((cache, x) => {
    const all = cat([x, ...[x.neg()]]);
    cache.push(x);
    return stack(cache).sum().add(all).mul(cat(cache).mean());
  }),
  'attention over keys and values': () => {
    const cache = { keys: [] as Tensor[], values: [] as Tensor[] };
    return {
      fn: (x: Tensor) => {
        cache.keys.push(x.mul(0.5));
        cache.values.push(x.tanh());
        const scores = x.matmul(cat(cache.keys).t());
        return scores.softmax(-1).matmul(cat(cache.values));
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'an array for each layer': () => {
    const caches: Tensor[][] = [[], []];
    return {
      fn: (x: Tensor) => {
        for (let layer = 0; layer < 2; layer++) {
          caches[layer]!.push(x);
          x = cat(caches[layer]!).mean(0, { keepDim: true }).tanh();
        }
        return x;
      },
      args: (call) => [row(call)],
      state: () => caches,
    };
  },
  'a Map of arrays': () => {
    const caches = new Map<string, Tensor[]>([
      ['k', []],
      ['v', []],
    ]);
    return {
      fn: (x: Tensor) => {
        caches.get('k')!.push(x);
        caches.get('v')!.push(x.neg());
        return cat(caches.get('k')!).mul(cat(caches.get('v')!));
      },
      args: (call) => [row(call)],
      state: () => caches,
    };
  },
  'an array with gradients of earlier calls': () => {
    const cache: Tensor[] = [];
    const w = weights([3, 3]);
    return {
      fn: (x: Tensor) => {
        cache.push(x.matmul(w));
        return noGrad(() => cat(cache));
      },
      args: (call) => [row(call)],
      state: () => [cache, w],
    };
  },
  'leaves that gradients come to': () => {
    const cache: Tensor[] = [];
    return {
      fn: (x: Tensor) => cat(cache).mul(x).add(cat(cache)),
      args: (call) => {
        cache.push(weights([1, 3], call));
        return [row(call)];
      },
      state: () => cache,
    };
  },
  'a first tensor of another size': () => {
    const cache: Tensor[] = [values([4, 3], 50)];
    return {
      fn: (x: Tensor) => {
        cache.push(x);
        return cat(cache).relu();
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'copied with another tensor: a field': () => {
    const state = { cache: [] as Tensor[] };
    return {
      fn: (x: Tensor) => {
        state.cache = [...state.cache, x.mul(2)];
        return stack(state.cache).sum();
      },
      args: (call) => [row(call)],
      state: () => state,
    };
  },
  'copied with another tensor: an argument and a result': threaded((cache, x) => [
    ...cache,
    x.mul(2),
  ]),
  'concatenated with another tensor': threaded((cache, x) => cache.concat([x.mul(2)], x)),
  'objects, mapped to their tensors': () => {
    const cache: { k: Tensor; v: Tensor }[] = [];
    return {
      fn: (x: Tensor) => {
        cache.push({ k: x.mul(0.5), v: x.tanh() });
        const scores = x.matmul(cat(cache.map((each) => each.k)).t());
        return scores.softmax(-1).matmul(cat(cache.map(({ v }) => v)));
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'pairs, mapped and copied': () => {
    const cache: [Tensor, Tensor][] = [];
    return {
      fn: (x: Tensor) => {
        const ks = [...cache.map(([k]) => k), x];
        cache.push([x.mul(0.5), x.tanh()]);
        return cat(ks).matmul(cat([x].concat(cache.map((pair) => pair[1]).concat(x))).t());
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'modules with caches of nested objects': () => {
    class Layer extends nn.Module {
      readonly linear = new nn.Linear(3, 3);
      readonly cache: { kv: { k: Tensor; v: Tensor } }[] = [];
      override forward(x: Tensor): Tensor {
        this.cache.push({ kv: { k: this.linear.forward(x).detach(), v: x.detach() } });
        const [ks, vs] = [this.cache.map((e) => e.kv.k), this.cache.map((e) => e.kv.v)];
        return x.matmul(cat(ks).t()).matmul(cat(vs)).tanh();
      }
    }
    seed(7);
    const model = new nn.Sequential(new Layer(), new Layer());
    return {
      fn: (x: Tensor) => model.forward(x),
      args: (call) => [row(call)],
      state: () => [...model].map((layer) => (layer as Layer).cache),
    };
  },
  'computed for each element': pushed((cache, x) => {
    cache.push(x.mul(2));
    const half = x.mul(0.5);
    return stack(cache.map((each) => each.mul(half).add(cache.length).T.matmul(x))).sum(0);
  }),
  'computed for each object, with gradients': () => {
    const cache: { k: Tensor; w: Tensor }[] = [];
    const w = weights([3, 3]);
    const scale = ({ k, w }: { k: Tensor; w: Tensor }) => k.matmul(w).tanh();
    return {
      fn: (x: Tensor) => {
        return cat([x, ...cache.map(scale), x])
          .matmul(w)
          .sum();
      },
      args: (call) => {
        cache.push({ k: row(call), w: weights([3, 3], call) });
        return [row(call)];
      },
      state: () => [cache, w],
    };
  },
  'copied by slice and by Array.from': pushed((cache, x) => {
    cache.push(x);
    const all = cache.slice();
    all.push(x.neg());
    const halves = Array.from(cache, (each) => each.mul(0.5));
    return cat(all)
      .sum()
      .add(cat(halves))
      .mul(cat(Array.from(cache)).mean());
  }),
  'before and after others': pushed((cache, x) => {
    const all = [x, x.neg(), ...cache, x.tanh()];
    cache.push(x.mul(2));
    return cat(all)
      .mul(all.length)
      .add(stack([...[x], ...cache]).sum());
  }),
  'an array whose length is a number of the program': pushed((cache, x) => {
    cache.push(x);
    return cat(cache).mul(cache.length).sum();
  }),
};

/** Elements that are counted from the end. The first calls have traces of their own. */
const lasts: Record<string, () => World> = {
  'the last one': pushed((cache, x) => {
    const before = cache.at(-1) ?? x;
    cache.push(before.mul(0.5).add(x));
    return before.add(cache[cache.length - 1]!).mul(cache.at(-1)!);
  }),
  'the one before the last, by index': pushed((cache, x) => {
    if (cache.length < 2) {
      cache.push(x);
      return x;
    }
    const [a, b] = [cache[cache.length - 2]!, cache[cache.length - 1]!];
    cache.push(a.add(b));
    return cache[cache.length - 3]!.sub(a).add(cache[cache.length - 2]!);
  }),
  'a window': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat(cache.slice(-3)).mean(0);
  }),
  'an object that is written to': () => {
    const states: { h: Tensor; count: number }[] = [];
    return {
      fn: (x: Tensor) => {
        const last = states.at(-1);
        if (last) last.count += 1;
        const h = last ? last.h.tanh().add(x) : x;
        states.push({ h, count: 0 });
        return h;
      },
      args: (call) => [row(call)],
      state: () => states,
    };
  },
};

/** Results that depend on those for earlier elements, so that the first calls have traces of their own. */
const reductions: Record<string, () => World> = {
  'added up': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.reduce((all, each) => all.add(each));
  }),
  'added up from a tensor': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.reduce((all, each) => all.mul(x).add(each.tanh()), x);
  }),
  'objects, added up': () => {
    const cache: { k: Tensor; v: Tensor }[] = [];
    const w = weights([3, 3]);
    return {
      fn: (x: Tensor) => {
        cache.push({ k: x.tanh(), v: x });
        return cache.reduce((all, { k, v }) => all.matmul(w).add(k.mul(v)), x);
      },
      args: (call) => [row(call)],
      state: () => [cache, w],
    };
  },
  'joined one by one': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.reduce((all, each) => cat([all, each]));
  }),
};

describe('an array of tensors that grows', () => {
  for (const [name, make] of Object.entries({ ...lasts, ...reductions })) {
    for (const fullGraph of [false, true]) {
      it(`is traced for every length at once: ${name}${fullGraph ? ' with fullGraph' : ''}`, () => {
        const { stats } = expectSameAsEager(make, { calls: 12, check: 1, fullGraph });
        expect(stats.translations).toBeLessThanOrEqual(4);
        expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
        expect(stats.kernels.eager).toBe(0);
      });
    }
  }

  for (const [name, make] of Object.entries(programs)) {
    it(`is traced for every length at once: ${name}`, () => {
      const { stats } = expectSameAsEager(make, { calls: 12, check: 1 });
      expect(stats).toMatchObject({ translations: 2, fallbacks: [], breaks: [] });
      expect(stats.kernels.eager).toBe(0);
    });

    it(`is one program for every length with fullGraph: ${name}`, () => {
      const { stats } = expectSameAsEager(make, { calls: 6, fullGraph: true });
      expect(stats.translations).toBe(2);
    });
  }

  it('has a program for each length, which is used again', () => {
    const f = toStatic((cache: readonly Tensor[]) => cat(cache));
    for (let round = 0; round < 3; round++) {
      for (let length = 1; length <= 20; length++) {
        f(Array.from({ length }, (_, i) => row(i))).dispose();
      }
    }
    expect(f.stats()).toMatchObject({ translations: 2, sizes: 20, graphRuns: 60 });
  });
});

describe('an array of tensors that grows without an end', () => {
  const grown = (options: ToStaticOptions = {}) => {
    const cache: Tensor[] = [];
    const f = toStatic((x: Tensor) => {
      cache.push(x.mul(1));
      return cat(cache).sum();
    }, options);
    const x = row(1);
    const one = x.sum().itemSync();
    const run = (calls: number) => {
      for (let i = 0; i < calls; i++) {
        const length = cache.length + 1;
        expect(f(x).itemSync()).toBeCloseTo(one * length, 2);
      }
    };
    const restart = () => {
      cache.length = 0;
    };
    return { f, run, restart };
  };

  it('runs eagerly past some hundred lengths, and is compiled for those that return', () => {
    const { f, run, restart } = grown();
    run(300);
    const { sizes, graphRuns } = f.stats();
    // The first length has a trace of its own.
    expect(f.stats()).toMatchObject({ translations: 2, graphRuns: sizes + 1 });
    expect(f.stats().fallbacks).toHaveLength(1);
    expect(f.stats().fallbacks[0]!.why).toContain('new ones keep coming');
    restart();
    run(300);
    expect(f.stats()).toMatchObject({ translations: 2, sizes: 299, graphRuns: graphRuns + 300 });
    expect(f.stats().fallbacks).toHaveLength(1);
  });

  it('is compiled for every length where nothing may run eagerly', () => {
    const { f, run } = grown({ fallback: 'error' });
    run(264);
    expect(f.stats()).toMatchObject({ translations: 2, sizes: 263, fallbacks: [] });
  });
});

/** What becomes of the array between calls, which a trace of its tensors all together can't take for granted. */
const surprises: Record<string, (cache: (Tensor | null)[], x: Tensor, call: number) => void> = {
  'one tensor twice': (cache) => cache.push(cache[0]!),
  'the argument': (cache, x) => cache.push(x),
  'a tensor that requires gradients': (cache, _x, call) => cache.push(weights([1, 3], call)),
  'the same leaf again': (cache, _x, call) => {
    if (call === 4) cache.push(weights([1, 3], call));
    else cache.push(cache.find((each) => each?.requiresGrad) ?? row(call));
  },
  'a tensor that is not contiguous': (cache, _x, call) => cache.push(values([3, 1], call).t()),
  'another dtype': (cache, _x, call) => cache.push(row(call).to('int32')),
  'another width': (cache, _x, call) => cache.push(values([1, call % 2 ? 3 : 4], call)),
  'no tensor': (cache) => cache.push(null),
  'a disposed tensor': (cache, _x, call) => {
    const tensor = row(call);
    tensor.dispose();
    cache.push(tensor);
  },
  'a hole': (cache, _x, call) => {
    cache.length++;
    if (call % 2) cache.pop();
  },
  'nothing at all': (cache, _x, call) => {
    if (call % 3 === 0) cache.length = 0;
  },
  'a getter': (cache, _x, call) => {
    const value = row(call);
    Object.defineProperty(cache, cache.length, {
      get: () => value,
      enumerable: true,
      configurable: true,
    });
  },
};

const uses: Record<string, (cache: Tensor[], x: Tensor) => unknown> = {
  'joins all': (cache, x) => cat(cache).mul(x),
  'joins all twice': (cache, x) => cat(cache).mul(cat(cache)).add(x),
  'joins all, and uses one': (cache, x) => cat(cache).add(cache[0]!).mul(x),
  'uses one, and joins all': (cache, x) => cache[0]!.mul(x).add(cat(cache)),
  'joins all, then writes to one': (cache, x) => {
    const joined = cat(cache);
    cache[0]!.add_(x);
    return [joined, cat(cache)];
  },
  'writes over one': (cache, x) => {
    cache[0] = x.mul(3);
    return cat(cache);
  },
  'joins all, pops one, joins what is left': (cache, x) => {
    const joined = cat(cache);
    const last = cache.pop();
    return [joined, cache.length > 0 ? cat(cache) : x, last];
  },
  'returns one that was joined': (cache, x) => [cat(cache).mul(x), cache[0]],
  'writes to what was joined': (cache, x) => cat(cache).add_(x),
  'copies it, and joins the copy': (cache, x) => {
    const all = [...cache, x.mul(2)];
    return [cat(all), all, all.length];
  },
  'copies it, then changes both': (cache, x) => {
    const all = cache.concat([x, x.neg()]);
    cache.push(x.mul(3));
    all.push(x.mul(4));
    return [cat(all), cat(cache), all];
  },
  'copies it, then shortens it': (cache, x) => {
    const all = [...cache, x];
    const last = cache.pop();
    return [all, last, cat(all)];
  },
  'copies it, then replaces one and writes to another': (cache, x) => {
    const all = [...cache, x];
    cache[0] = x.mul(3);
    cache.at(-1)!.add_(x);
    return [cat(all), all, cat(cache)];
  },
  'copies it, and uses one of the copy': (cache, x) => {
    const all = cache.concat(x);
    return [cat(all), all[0]!.mul(x), Object.freeze([...all])];
  },
  'copies it past a break and into a branch': (cache, x) => {
    const all = [...cache, x];
    const copy = x.sum().itemSync() > 0 ? all : [...all, x];
    return [cat(copy), copy, all];
  },
  'uses the last ones': (cache, x) => [cache.at(-1)!.mul(x), cache[cache.length - 1], cache.at(-2)],
  'uses the last one, then writes over it': (cache, x) => {
    const last = cache.at(-1)!;
    cache[cache.length - 1] = x.neg();
    return [last, cache.at(-1), cache.slice(-1)];
  },
  'writes over one, then uses the last': (cache, x) => {
    cache[0] = x.neg();
    return [cache.at(-1), cache.slice(-2)];
  },
  'uses the last one, and removes it': (cache, x) => {
    const last = cache.at(-1)!.mul(x);
    cache.pop();
    return [last, cache.at(-1) ?? x];
  },
  'writes to the last one in place, and joins all': (cache, x) => {
    cache.at(-1)!.add_(x);
    return cat(cache);
  },
  'copies it by slice, and changes both': (cache, x) => {
    const [all, same] = [cache.slice(0), Array.from(cache)];
    all.push(x);
    cache.push(x.neg());
    return [all, same, cat(all), same.length];
  },
  'asks one for its size': (cache, x) => cat(cache).mul(cache[0]!.shape[1]!).add(x),
};

describe('an array of tensors that changes between calls', () => {
  for (const [i, [use, body]] of Object.entries(uses).entries()) {
    for (const [j, [surprise, change]] of Object.entries(surprises).entries()) {
      if ((i + j) % 2 === 1 && !process.env.GENERATED_RUNS) continue;
      it(`gives what eager execution gives: ${use}, and finds ${surprise}`, () => {
        expectSameAsEager(
          () => {
            const cache: Tensor[] = [row(90)];
            return {
              fn: (x: Tensor) => body(cache, x),
              args: (call) => {
                const x = row(call);
                if (call < 4) cache.push(row(call + 20));
                else if (call < 7) change(cache, x, call);
                else cache.splice(0, cache.length, row(call), row(call + 1), row(call + 2));
                return [x];
              },
              state: () => cache,
            };
          },
          { calls: 9 },
        );
      });
    }
  }
});

type Entry = { k: Tensor; v: Tensor };

/** What becomes of an array of objects between calls. */
const changesOfObjects: Record<string, (cache: Entry[], x: Tensor, call: number) => void> = {
  'one object twice': (cache) => cache.push(cache[0]!),
  'a tensor that two objects share': (cache, x) => cache.push({ k: cache[0]!.v, v: x }),
  'another order of keys': (cache, _x, call) => cache.push({ v: row(call), k: row(call + 1) }),
  'a further key': (cache, _x, call) =>
    cache.push({ k: row(call), v: row(call), z: row(9) } as Entry),
  'a number': (cache, _x, call) => cache.push({ k: row(call), v: 3 } as unknown as Entry),
  'a getter': (cache, _x, call) => {
    const k = row(call);
    cache.push({
      get k() {
        return k;
      },
      v: row(call),
    });
  },
  'an instance of a class': (cache, _x, call) => {
    class Own {
      k = row(call);
      v = row(call + 1);
    }
    cache.push(new Own());
  },
  'a tensor with a method of its own': (cache, _x, call) => {
    const k = row(call);
    cache.push({ k: Object.assign(k, { tanh: () => k.mul(7) }), v: row(call) });
  },
  'another dtype, width or layout': (cache, x, call) => {
    const others = [x.to('int32'), values([1, 4], call), values([3, 1], call).t()];
    cache.push({ k: others[call % 3]!, v: row(call) });
  },
  'a tensor that requires gradients': (cache, _x, call) =>
    cache.push({ k: weights([1, 3], call), v: row(call) }),
  'a disposed tensor': (cache, _x, call) => {
    const k = row(call);
    k.dispose();
    cache.push({ k, v: row(call) });
  },
  'no element': (cache) => {
    cache.length = 0;
  },
};

const usesOfObjects: Record<string, (cache: Entry[], x: Tensor) => unknown> = {
  'one column': (cache, x) => [...cache.map((each) => each.k), x].map((k) => k.sum()),
  'both columns': (cache) => [cat(cache.map(({ k }) => k)), cat(cache.map(({ v }) => v)).tanh()],
  'a result for each': (cache, x) => cat([x, ...cache.map(({ k, v }) => k.tanh().mul(v).mul(x))]),
  'returns what it mapped': (cache) => cache.map(({ k }) => k.tanh()),
  'the index': (cache, x) => cat([x, ...cache.map(({ k }, i) => (i > 3 ? k.neg() : k))]),
  'a shape': (cache, x) => cat([x, ...cache.map(({ k }) => k.mul(k.shape[1]!))]).sum(),
  'a key that may be there': (cache, x) =>
    cat([x, ...cache.map((each) => ('z' in each ? each.k.neg() : each.k))]).sum(),
  'the keys': (cache, x) => [x, ...cache.map((each) => Object.keys(each)[0] ?? 'none')],
  'the flag of each tensor': (cache, x) =>
    cat([x, ...cache.map(({ k }) => (k.requiresGrad ? k.mul(2) : k))]),
  'a count kept outside': (cache, x) => {
    let count = 0;
    const all = cache.map(({ k }) => (++count > 4 ? k.neg() : k.tanh()));
    return [cat([x, ...all]), count];
  },
  'the one that is the first': (cache, x) =>
    cat([x, ...cache.map((each) => (each === cache[0] ? each.k.neg() : each.k))]),
  'writes to each': (cache, x) => {
    const all = cat([x, ...cache.map(({ k }) => k.add_(1))]);
    return [all, cat([x, ...cache.map(({ k }) => k)])];
  },
  'writes over a key, then maps': (cache, x) => {
    if (cache.length > 0) cache[0]!.k = x.mul(3);
    return cat([x, ...cache.map(({ k }) => k)]);
  },
  'maps, then writes over a key': (cache, x) => {
    const before = cat([x, ...cache.map(({ k }) => k)]);
    if (cache.length > 0) cache.at(-1)!.k = x.mul(3);
    return [before, cat([x, ...cache.map(({ k }) => k)])];
  },
  'random numbers': (cache, x) => cat([x, ...cache.map(({ k }) => k.mul(rand([1, 1])))]),
  'adds them up': (cache, x) => cache.reduce((all, { k }) => all.add(k), x),
  'adds up what depends on the flag': (cache, x) =>
    cache.reduce((all, { k }) => (all.requiresGrad ? all.mul(k) : all.add(k)), x),
  'adds up what depends on the size': (cache, x) =>
    cache.reduce((all, { k }) => cat([all, k.mul(all.shape[0]!)], 1), x),
  'the sum so far, if it is another one': (cache, x) =>
    cache.reduce((all, { k }) => (all === x ? k : all.mul(k)), x),
  'the last one': (cache, x) => cache.reduce((_, { k }) => k, x),
  'a function of the module': (cache, x) => cat([x, ...cache.map(doubled)]),
};

const doubled = ({ k }: Entry) => k.mul(2);

describe('an array of objects that changes between calls', () => {
  for (const [i, [use, body]] of Object.entries(usesOfObjects).entries()) {
    for (const [j, [surprise, change]] of Object.entries(changesOfObjects).entries()) {
      if ((i + j) % 6 !== 0 && !process.env.GENERATED_RUNS) continue;
      it(`gives what eager execution gives: ${use}, and finds ${surprise}`, () => {
        expectSameAsEager(
          () => {
            const cache: Entry[] = [];
            return {
              fn: (x: Tensor) => body(cache, x),
              args: (call) => {
                const x = row(call);
                seed(call);
                if (call < 4) cache.push({ k: row(call + 20), v: row(call + 30) });
                else if (call < 7) change(cache, x, call);
                else cache.splice(0, cache.length, { k: row(call), v: row(call + 1) });
                return [x];
              },
              state: () => cache,
            };
          },
          { calls: 9 },
        );
      });
    }
  }
});
