import { describe, expect, it } from 'vitest';
import {
  bernoulli,
  manualSeed,
  nn,
  rand,
  randint,
  randn,
  randomState,
  randperm,
  seed,
  type Tensor,
  toStatic,
} from '../../src/index.ts';
import { weights } from './same-as-eager.ts';

/** What `calls` calls return, and where the stream stands after each. */
function drawn(fn: (x: Tensor) => Tensor[], calls = 3): unknown[] {
  seed(3);
  return Array.from({ length: calls }, (_, call) => {
    const results = fn(weights([4], call)).map((t) => [...t.dataSync()]);
    return { results, ...randomState() };
  });
}

const functions: Record<string, (x: Tensor) => Tensor[]> = {
  'uniform and normal': (x) => [rand([3]), x.add(randn([4])), rand([2, 2])],
  'a number nobody uses': (x) => {
    rand([5]);
    return [x.mul(rand([4]))];
  },
  'integers, orders and truth values': () => [
    randint(0, 9, [4]),
    randperm(5),
    bernoulli(rand([6])),
  ],
  float64: () => [rand([3], { dtype: 'float64' }), randn([2])],
};

/** Functions that begin a stream of their own. */
const seeding: Record<string, (x: Tensor) => Tensor[]> = {
  'before all numbers': (x) => {
    seed(7);
    return [x.add(rand([4])), randn([2])];
  },
  'between numbers, twice': (x) => {
    const first = rand([4]);
    manualSeed(1);
    const second = rand([4]);
    seed(2);
    return [first, second, x.mul(rand([4]))];
  },
  'behind all numbers': (x) => {
    const y = x.add(rand([4]));
    seed(11);
    return [y];
  },
  'before a branch that draws': (x) => {
    seed(5);
    const y = x.sum().itemSync() > 0 ? x.add(rand([4])) : x.mul(2);
    return [y, rand([2])];
  },
};

describe('trace/random', () => {
  it.each(Object.entries(seeding))('a seed that is set inside: %s', (_name, fn) => {
    for (const options of [{}, { fullGraph: true }, { capture: 'auto' }, { check: 2 }] as const) {
      const captured = toStatic(fn, { strict: true, ...options });
      expect(drawn(captured)).toEqual(drawn(fn));
      if ('fullGraph' in options) expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [] });
    }
  });

  it('a seed that changes from call to call', () => {
    const make = () => {
      let by = 3;
      return (x: Tensor) => {
        by += 2;
        seed(by);
        return [x.add(rand([4]))];
      };
    };
    const captured = toStatic(make(), { fullGraph: true });
    expect(drawn(captured, 6)).toEqual(drawn(make(), 6));
    expect(captured.stats().translations).toBeLessThan(4);
  });

  it.each(Object.entries(functions))('draws the numbers of eager execution: %s', (_name, fn) => {
    const captured = toStatic(fn);
    expect(drawn(captured)).toEqual(drawn(fn));
    expect(captured.stats()).toMatchObject({ translations: 1, graphs: 1, breaks: [] });
  });

  it.each([
    ['Dropout', () => new nn.Dropout(0.5)],
    ['Dropout2d', () => new nn.Dropout2d(0.5)],
    ['AlphaDropout', () => new nn.AlphaDropout(0.5)],
    ['FeatureAlphaDropout', () => new nn.FeatureAlphaDropout(0.5)],
  ] as const)('the probability of %s may be changed between calls', (_, make) => {
    const [eager, module] = [make(), make()];
    const graph = toStatic((x: Tensor) => module.forward(x), { fullGraph: true });
    const x = weights([2, 3, 2, 2]);
    for (const p of [0.5, 0.1, 0.2, 0, 0.9, 1, 0.3, 0.4]) {
      eager.p = p;
      module.p = p;
      const results = [(x: Tensor) => eager.forward(x), graph].map((run) => {
        seed(5);
        return [...run(x).dataSync()];
      });
      expect(results[1]).toEqual(results[0]);
    }
    // The first probability, any other one, none, and all.
    expect(graph.stats().translations).toBeLessThanOrEqual(4);
  });

  it('dropout drops the same elements, forward and backward', () => {
    const layer = new nn.Dropout(0.4);
    const step = (x: Tensor) => {
      const y = layer.forward(x).mul(x);
      y.sum().backward();
      const gradient = x.grad!;
      x.grad = null;
      return [y.detach(), gradient];
    };
    const captured = toStatic(step);
    expect(drawn(captured)).toEqual(drawn(step));
    expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [] });
    const outside = (fn: (x: Tensor) => Tensor) => (x: Tensor) => {
      fn(x).sum().backward();
      return [x.grad!];
    };
    const forward = (x: Tensor) => layer.forward(x).tanh();
    expect(drawn(outside(toStatic(forward)))).toEqual(drawn(outside(forward)));
  });
});
