/** Loops over arrays of tensors that grow with every call: one trace serves every length. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';
import { pushed, row } from './pushed.ts';

/** Loops, which are traced up to the iteration that is like all later ones. */
const loops: Record<string, () => World> = {
  'for … of that adds up': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (const each of cache) sum = sum.mul(0.5).add(each.tanh());
    return sum;
  }),
  'for … of before the list grows': pushed((cache, x) => {
    let sum = x;
    for (const each of cache) sum = sum.add(each);
    cache.push(sum);
    return sum;
  }),
  'for … of that begins with nothing': pushed((cache, x) => {
    cache.push(x.mul(2));
    let [sum, best]: (Tensor | null)[] = [null, null];
    let isFirst = true;
    for (const each of cache) {
      sum = sum ? sum.add(each) : each.neg();
      best = isFirst ? each.abs() : best!.maximum(each);
      isFirst = false;
    }
    return sum!.mul(best!);
  }),
  'for … of over objects, with gradients': () => {
    const cache: { k: Tensor; w: Tensor }[] = [];
    const w = weights([3, 3]);
    return {
      fn: (x: Tensor) => {
        let [h, c] = [x, x.neg()];
        for (const { k, w: own } of cache) {
          const next = h.matmul(own).add(c.matmul(w)).tanh();
          c = h.mul(k);
          h = next;
        }
        return h.add(c).sum();
      },
      args: (call) => {
        cache.push({ k: row(call), w: weights([3, 3], call) });
        return [row(call)];
      },
      state: () => [cache, w],
    };
  },
  'for … of that collects': pushed((cache, x) => {
    cache.push(x.mul(2));
    const scores: Tensor[] = [];
    const all = [x];
    for (const each of cache) {
      scores.push(each.mul(x).sum());
      all.push(each);
    }
    return stack(scores).softmax(0).mul(cat(all).sum()).add(scores.length);
  }),
  'for … of over pairs, into two arrays': () => {
    const cache: [Tensor, Tensor][] = [];
    return {
      fn: (x: Tensor) => {
        cache.push([x.mul(0.5), x.tanh()]);
        const [keys, all]: [Tensor[], Tensor[]] = [[], []];
        for (const [key, value] of cache) {
          keys.push(key);
          all.push(value);
        }
        return x.matmul(cat(keys).t()).softmax(-1).matmul(cat(all));
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'for … of over entries, and a counter': pushed((cache, x) => {
    cache.push(x.mul(2));
    let [sum, weight] = [x, 3];
    for (const [i, each] of cache.entries()) {
      sum = sum.add(each.mul(i + 1)).mul(weight);
      weight -= 2;
    }
    return sum.add(weight);
  }),
  'forEach into a variable and an array': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    const seen: Tensor[] = [];
    cache.forEach((each, i) => {
      sum = sum.add(each.mul(i));
      seen.push(sum);
    });
    return cat(seen).add(sum);
  }),
  'an index': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 0; i < cache.length; i++) sum = sum.add(cache[i]!).mul(0.5);
    return sum;
  }),
  'an index that is a number of ops': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 0; i < cache.length; i++) sum = sum.add(cache[i]!.mul(i)).pow(i + 1);
    return sum;
  }),
  'an index into keys and values': () => {
    const cache = { keys: [] as Tensor[], values: [] as Tensor[] };
    return {
      fn: (x: Tensor) => {
        cache.keys.push(x.mul(0.5));
        cache.values.push(x.tanh());
        const scores: Tensor[] = [];
        let out = x.mul(0);
        for (let i = 0; i < cache.keys.length; i++) {
          const score = cache.keys[i]!.mul(x).sum();
          scores.push(score);
          out = out.add(cache.values[i]!.mul(score));
        }
        return out.div(stack(scores).sum());
      },
      args: (call) => [row(call)],
      state: () => cache,
    };
  },
  'an index, of a length that was read before': pushed((cache, x) => {
    const { length } = cache;
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 0; i < length; i++) sum = sum.add(cache[i]!);
    return sum;
  }),
  'functions of the module around it': pushed((cache, x) => {
    cache.push(x.mul(2));
    return weighted(cache, x);
  }),
};

function weighted(cache: readonly Tensor[], x: Tensor): Tensor {
  let sum = x;
  for (const each of cache) sum = halved(sum, each);
  return sum;
}

const halved = (a: Tensor, b: Tensor) => a.add(b).mul(0.5);
describe('a loop over an array of tensors that grows', () => {
  for (const [name, make] of Object.entries(loops)) {
    for (const fullGraph of [false, true]) {
      it(`is traced for every length at once: ${name}${fullGraph ? ' with fullGraph' : ''}`, () => {
        const { stats } = expectSameAsEager(make, { calls: 12, check: 1, fullGraph });
        expect(stats.translations).toBeLessThanOrEqual(4);
        expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
        expect(stats.kernels.eager).toBe(0);
      });
    }
  }
});

describe('a loop over an array that can only be traced element by element', () => {
  it('leaves nothing of the attempt to repeat it: other sizes need no trace of their own', () => {
    const rows = (call: number, size: number) => values([size, 3], call);
    const make = (): World => ({
      fn: (cache: Tensor[], x: Tensor) => {
        let sum = x;
        for (const each of cache) {
          const scaled = sum.mul(each);
          sum = scaled.shape[0]! < 100 ? scaled.add(1) : scaled;
          if (each === x) break;
        }
        return sum;
      },
      // The length varies first, then the size.
      args: (call) => [
        Array.from({ length: Math.min(call + 1, 3) }, (_, i) => row(i)),
        rows(call, Math.max(call, 2)),
      ],
    });
    const { translations, stats } = expectSameAsEager(make, { calls: 9, check: 1 });
    expect(translations.at(-1)).toBe(translations[4]);
    expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
  });
});

describe('map() over an array that can only be traced element by element', () => {
  it('leaves nothing of the attempt either', () => {
    const make = (): World => ({
      fn: (cache: Tensor[], x: Tensor) => cat(cache.map((each) => x.mul(each).add(cache[0]!))),
      args: (call) => [
        Array.from({ length: Math.min(call + 1, 3) }, (_, i) => row(i)),
        values([Math.max(call, 2), 3], call),
      ],
    });
    const { translations } = expectSameAsEager(make, { calls: 9, check: 1 });
    expect(translations.at(-1)).toBe(translations[4]);
  });
});
