/** Arrays of tensors that grow with every call and are used whole: one trace serves every length. */

import { describe, expect, it } from 'vitest';
import {
  cat,
  nn,
  noGrad,
  seed,
  stack,
  type Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';
import { pushed, row } from './pushed.ts';

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
