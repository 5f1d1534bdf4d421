/** One tensor given as several inputs of a program: its gradient is the sum in the order of eager execution, to the bit. */

import { describe, expect, it } from 'vitest';
import { cat, stack, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

type Four = readonly [Tensor, Tensor, Tensor, Tensor];
type Body = (x: Four, n: Tensor) => Tensor;

/** By how often the program reads its inputs, and from where. */
const bodies: Readonly<Record<string, Body>> = {
  'each once': ([a, b, c, d]) => a.exp().mul(b).add(c.sin().mul(d)),
  'each once, the last first': ([a, b, c, d]) => d.exp().mul(c).add(b.sin().mul(a)),
  'one twice': ([a, b, c, d]) => a.exp().mul(b).add(c.sin().mul(d)).mul(a),
  'each in a branch': ([a, b, c, d], n) =>
    n.sum().itemSync() > 0 ? a.exp().mul(b).add(c.sin().mul(d)) : a.add(b).mul(c).add(d),
  'one in a branch, several times': ([a, b, c, d], n) =>
    (n.sum().itemSync() > 0 ? a.exp().add(a.mul(a)) : a.sin()).add(b.mul(0.377)).mul(c).add(d),
  'two in a loop': ([a, b, c, d], n) => {
    let s = c.mul(0.37);
    for (let i = 0; i < n.sum().itemSync(); i++) s = s.mul(a).add(b.exp());
    return s.mul(d);
  },
  'one in a loop': ([a, b, c, d], n) => {
    let s = b.mul(0.37);
    for (let i = 0; i < n.sum().itemSync(); i++) s = s.mul(a).sin();
    return s.add(c).mul(d);
  },
};

/** Which of four inputs are which tensor. */
function partitions(count: number): number[][] {
  if (count === 0) return [[]];
  return partitions(count - 1).flatMap((each) => {
    const distinct = Math.max(-1, ...each) + 1;
    return Array.from({ length: distinct + 1 }, (_, i) => [...each, i]);
  });
}

/** Contributions from outside of the program. */
const surroundings: Readonly<Record<string, (f: Body, x: Four, n: Tensor) => Tensor>> = {
  'of leaves': (f, x, n) => f(x, n).sum(),
  'of leaves that are used before and after': (f, x, n) => {
    const before = x[0].cos();
    return f(x, n).add(before).mul(x[0]).sum();
  },
  'of results': (f, x, n) => {
    const made = new Map(x.map((each) => [each, each.mul(1.1)]));
    return f(x.map((each) => made.get(each)!) as unknown as Four, n).sum();
  },
};

const cases = Object.keys(bodies).flatMap((body) =>
  Object.keys(surroundings).map((surrounding) => [body, surrounding] as const),
);

describe('one tensor as several inputs', () => {
  it.each(cases)('%s, %s', (name, surrounding) => {
    const body = bodies[name]!;
    const call = toStatic((a: Tensor, b: Tensor, c: Tensor, d: Tensor, n: Tensor) =>
      body([a, b, c, d], n),
    );
    const captured: Body = ([a, b, c, d], n) => call(a, b, c, d, n);
    const gradientsOf = (f: Body, same: readonly number[]) => {
      const own = same.map((_, i) => weights([9], i));
      const x = same.map((i) => own[i]!) as unknown as Four;
      const y = surroundings[surrounding]!(f, x, tensor([3]));
      y.backward();
      return [y, ...x.map(({ grad }) => grad!)].map((each) => [...each.dataSync()]);
    };
    gradientsOf(captured, [0, 1, 2, 3]);
    for (const same of partitions(4)) {
      expect(gradientsOf(captured, same), `${same}`).toEqual(gradientsOf(body, same));
    }
    // A gradient has one order if each input is read once.
    if (name.startsWith('each once')) expect(call.stats().translations).toBe(1);
  });
});

type OfList = (list: Tensor[], x: Tensor) => Tensor;

const ofLists: Readonly<Record<string, OfList>> = {
  'concatenated before another is read': (list, x) => cat(list).sin().sum().mul(x.exp().sum()),
  'concatenated after another is read': (list, x) => x.exp().sum().mul(cat(list).sin().sum()),
  'concatenated, another read twice': (list, x) => {
    return x.exp().mul(x).sum().mul(cat(list).sin().sum());
  },
  'stacked twice': (list, x) => {
    return stack(list).sin().sum().mul(x.sum()).add(stack(list).exp().sum());
  },
  'one by one': (list, x) => {
    let sum = x.mul(0.37);
    for (const each of list) sum = sum.mul(each).sin();
    return sum.add(x).sum();
  },
};

/** The tensors of an array, and another tensor, by number: arrays of any length first. */
const lists: readonly (readonly [list: readonly number[], x: number])[] = [
  [[0, 1], 9],
  [[0, 1, 2], 9],
  [[0, 1, 2, 3], 9],
  [[0, 1, 2], 0],
  [[0, 1, 2], 2],
  [[0, 0, 1], 9],
  [[0, 1, 0], 0],
  [[0, 1, 2, 3, 4], 1],
  [[0, 1, 2, 3, 4], 9],
];

describe('one tensor as elements of an array and as another input', () => {
  const forms = Object.entries(ofLists).flatMap(([name, body]) => [
    [name, body] as const,
    [
      `${name}, with backward inside`,
      (list: Tensor[], x: Tensor) => {
        const y = body(list, x);
        y.backward();
        return y.detach();
      },
    ] as const,
  ]);

  it.each(forms)('%s', (_, form) => {
    const call = toStatic(form);
    const gradientsOf = (f: OfList, [list, x]: (typeof lists)[number]) => {
      const own = Array.from({ length: 10 }, (_, i) => weights([9], i));
      const y = f(
        list.map((i) => own[i]!),
        own[x]!,
      );
      if (y.requiresGrad) y.backward();
      return own.map(({ grad }) => grad && [...grad.dataSync()]);
    };
    for (const each of lists) {
      expect(gradientsOf(call, each), JSON.stringify(each)).toEqual(gradientsOf(form, each));
    }
  });
});
