/** Arrays that grow with every call, spread into the arguments of functions. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World } from '../same-as-eager.ts';
import { pushed, row } from './pushed.ts';

const joined = (...all: Tensor[]) => cat(all);

function joinedTo(first: Tensor, ...others: Tensor[]): Tensor {
  return cat([first, ...others, first.neg()]).mul(others.length);
}

function added(to: Tensor, ...all: Tensor[]): Tensor {
  let sum = to;
  for (const each of all) sum = sum.mul(0.5).add(each);
  return sum;
}

const relayed = (...all: Tensor[]): Tensor => joinedTo(cat(all).mean(0, { keepDim: true }), ...all);

function breaking(first: Tensor, ...all: Tensor[]): Tensor {
  const total = cat(all).sum();
  return total.itemSync() > 1e6 ? first : total.mul(all.length);
}

const programs: Record<string, () => World> = {
  'into a rest parameter': pushed((cache, x) => {
    cache.push(x.mul(2));
    return joined(...cache);
  }),
  'behind other arguments': pushed((cache, x) => {
    cache.push(x.mul(2));
    return joinedTo(x, ...cache);
  }),
  'before other arguments': pushed((cache, x) => {
    const before = joinedTo(x, ...cache, x.neg());
    cache.push(x.mul(2));
    return before.sum();
  }),
  'more than the first parameters': pushed((cache, x) => {
    cache.push(x.tanh());
    return joinedTo(x, x.neg(), ...cache);
  }),
  'to a function that goes over them': pushed((cache, x) => {
    cache.push(x.mul(2));
    return added(x, ...cache);
  }),
  'to a function that maps them': pushed((cache, x) => {
    cache.push(x.mul(2));
    const scaled = (by: number, ...all: Tensor[]) => stack(all.map((each) => each.mul(by)));
    return scaled(3, ...cache).sum(0);
  }),
  'on and on': pushed((cache, x) => {
    cache.push(x.mul(2));
    return relayed(...cache);
  }),
  'to a method': () => {
    const model = {
      cache: [] as Tensor[],
      scale: 3,
      joined(...all: Tensor[]) {
        return cat(all).mul(this.scale);
      },
    };
    return {
      fn: (x: Tensor) => {
        model.cache.push(x.exp());
        return model.joined(...model.cache);
      },
      args: (call) => [row(call)],
      state: () => model.cache,
    };
  },
};

/** Functions that need single arguments: there is a trace for each length, or the graph breaks. */
const single: Record<string, () => World> = {
  'into parameters': pushed((cache, x) => {
    cache.push(x.mul(2));
    return ((a: Tensor, b?: Tensor, ...more: Tensor[]) => (b ? cat([a.add(b), ...more]) : a))(
      ...(cache as [Tensor]),
    );
  }),
  'read one by one': pushed((cache, x) => {
    cache.push(x.mul(2));
    return ((...all: Tensor[]) => all[0]!.add(all[all.length - 1]!).mul(all.length))(...cache);
  }),
  'through arguments': pushed((cache, x) => {
    cache.push(x.mul(2));
    return function (this: unknown, ..._all: Tensor[]) {
      // biome-ignore lint/complexity/noArguments: what this is about
      return cat([...arguments] as Tensor[]).mul(arguments.length);
    }.call(null, ...cache);
  }),
  'to a generator': pushed((cache, x) => {
    cache.push(x.mul(2));
    function* each(...all: Tensor[]) {
      yield* all;
    }
    return cat([...each(...cache)]);
  }),
  'to the tensor API': pushed((cache, x) => {
    cache.push(x.mul(2));
    return x.reshape(...cache.map(() => 1), -1);
  }),
  'before a break': pushed((cache, x) => {
    cache.push(x.mul(2));
    return breaking(x, ...cache);
  }),
  'returned and changed': pushed((cache, x) => {
    cache.push(x.mul(2));
    const list = (...all: Tensor[]) => all;
    const all = list(...cache);
    all.push(x);
    all.reverse();
    return [all, cat(all), cache.length];
  }),
};

describe('an array of tensors that grows, spread into a call', () => {
  for (const [name, make] of Object.entries(programs)) {
    for (const fullGraph of [false, true]) {
      it(`has one trace for every length: ${name}${fullGraph ? ' with fullGraph' : ''}`, () => {
        const { stats } = expectSameAsEager(make, { calls: 10, check: 1, fullGraph });
        expect(stats.translations).toBeLessThanOrEqual(4);
        expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
        expect(stats.kernels.eager).toBe(0);
      });
    }
  }

  for (const [name, make] of Object.entries(single)) {
    it(`gives what eager execution gives: ${name}`, () => {
      expectSameAsEager(make, { calls: 6 });
    });
  }
});
