/** Loops and callbacks that use the index of an element, over arrays of tensors that grow with every call. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World } from '../same-as-eager.ts';
import { pushed } from './pushed.ts';

const programs: Record<string, () => World> = {
  'from 1': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 1; i < cache.length; i++) sum = sum.add(cache[i]!);
    return sum;
  }),
  'from 1, beginning with the first element': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = cache[0]!;
    for (let i = 1; i < cache.length; i++) sum = sum.mul(0.5).add(cache[i]!);
    return sum;
  }),
  'from 1, after an op on the first element': pushed((cache, x) => {
    const begin = cache.length > 0 ? cache[0]!.mul(3) : x;
    cache.push(x.mul(2));
    let sum = begin;
    for (let i = 1; i < cache.length; i++) sum = sum.add(cache[i]!);
    return sum;
  }),
  'all but the last': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 0; i < cache.length - 1; i++) sum = sum.mul(0.5).add(cache[i]!);
    return sum;
  }),
  'every second one': pushed((cache, x) => {
    cache.push(x.mul(2));
    let [sum, n] = [x, 0];
    for (let i = 0; i < cache.length; i += 2) {
      sum = sum.add(cache[i]!.mul(i));
      n += 3;
    }
    return sum.mul(n);
  }),
  backwards: pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (let i = cache.length - 1; i >= 0; i--) sum = sum.mul(0.5).add(cache[i]!);
    return sum;
  }),
  'backwards, every second one': pushed((cache, x) => {
    let sum = x;
    for (let i = cache.length - 1; i > -1; i -= 2) sum = sum.mul(0.5).add(cache[i]!);
    cache.push(sum);
    return sum;
  }),
  'backwards, over two arrays, with the index as a number': () => {
    const cache = { keys: [] as Tensor[], values: [] as Tensor[] };
    const { args } = pushed(() => null)();
    return {
      fn: (x: Tensor) => {
        let sum = x;
        for (let i = cache.keys.length - 1; i >= 0; i--) {
          sum = sum.add(cache.keys[i]!.mul(cache.values[i]!).mul(0.5 ** (i + 1)));
        }
        cache.keys.push(x.mul(0.5));
        cache.values.push(sum.tanh());
        return sum;
      },
      args: args!,
      state: () => cache,
    };
  },
  'a copy': pushed((cache, x) => {
    const copy = cache.slice();
    cache.push(x.mul(2));
    let sum = x;
    for (let i = 0; i < copy.length; i++) sum = sum.mul(0.5).add(copy[i]!);
    return sum;
  }),
  'decisions that the first iterations take otherwise': pushed((cache, x) => {
    cache.push(x.mul(2));
    let sum = x;
    for (const [i, each] of cache.entries()) {
      if (i === 0) sum = each.neg();
      else if (i <= 2) sum = sum.mul(each);
      else sum = sum.add(each);
    }
    return sum;
  }),
  'several values appended to an array, from the second iteration on': pushed((cache, x) => {
    cache.push(x.mul(2));
    const all = [x];
    for (let i = 0; i < cache.length; i++) if (i > 0) all.push(cache[i]!, cache[i]!.neg());
    return cat(all).mul(all.length);
  }),
  'map with the index': pushed((cache, x) => {
    cache.push(x.mul(2));
    return stack(cache.map((each, i) => each.mul(i + 1).add(x))).sum(0);
  }),
  'Array.from with the index': pushed((cache, x) => {
    cache.push(x.mul(2));
    return stack(Array.from(cache, (each, i) => each.mul(0.5 ** i))).sum(0);
  }),
  'filter by the index': pushed((cache, x) => {
    cache.push(x.mul(2), x);
    return cat(cache.filter((_, i) => i > 0)).sum(0);
  }),
  flatMap: pushed((cache, x) => {
    cache.push(x.mul(2));
    return cat(cache.flatMap((each, i) => [each, each.mul(i)])).sum(0);
  }),
  'reduce with the index, from the first element on': pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.reduce((sum, each, i) => sum.add(each.mul(i)));
  }),
  reduceRight: pushed((cache, x) => {
    cache.push(x.mul(2));
    return cache.reduceRight((sum, each) => sum.mul(0.5).add(each), x);
  }),
  'reduceRight from the last element on': pushed((cache, x) => {
    const sum = cache.length > 0 ? cache.reduceRight((all, each) => all.mul(0.5).add(each)) : x;
    cache.push(x.mul(2));
    return sum;
  }),
  'the first and last elements, beside the whole array': pushed((cache, x) => {
    cache.push(x.mul(2));
    const all = cat(cache).mul(cache[0]!);
    let sum = all.sum(0);
    for (const each of cache) sum = sum.add(each);
    return sum
      .mul(cache.at(-1)!)
      .mul(cache[cache.length - 1]!)
      .add(cache[0]!);
  }),
};

describe('code that uses the index of elements of an array that grows', () => {
  for (const [name, make] of Object.entries(programs)) {
    for (const fullGraph of [false, true]) {
      it(`is traced for every length at once: ${name}${fullGraph ? ' with fullGraph' : ''}`, () => {
        const { stats } = expectSameAsEager(make, { calls: 12, check: 1, fullGraph });
        expect(stats.translations).toBeLessThanOrEqual(5);
        expect(stats).toMatchObject({ fallbacks: [], breaks: [] });
        expect(stats.kernels.eager).toBe(0);
      });
    }
  }
});
