/** Functions that a call is given anew each time: one translation for all of one code, whatever they close over. */

import { describe, expect, it } from 'vitest';
import { noGrad, relu, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World } from '../same-as-eager.ts';

type Unary = (x: Tensor) => Tensor;

const world = (
  fn: (x: Tensor, given: never) => unknown,
  given: (call: number) => unknown,
): (() => World) => {
  return () => ({ fn, args: (call) => [values([3]), given(call)] });
};

const apply = (x: Tensor, f: Unary) => f(x).add(1);
const kept = (x: Tensor) => x.mul(3);
const base = values([3]);
let changing = 2;
const mode = { scale: 2 };

class Holder {
  readonly rate = 4;
  make(): Unary {
    return (x) => x.mul(this.rate);
  }
}

class Layer {
  constructor(readonly weight: Tensor) {}
  forward(x: Tensor): Tensor {
    return x.mul(this.weight);
  }
}

class Scaled extends Layer {
  readonly #rate = 3;
  constructor() {
    super(base);
  }
  override forward(x: Tensor): Tensor {
    return super.forward(x).mul(this.#rate);
  }
}

const weighed = (weight: Tensor, { rate }: { rate: number }, act: Unary, x: Tensor): Tensor =>
  act(x.mul(weight)).mul(rate);
const scaled = (rate: number, x: Tensor): Tensor => x.mul(rate);
const boundOnce = scaled.bind(null, 3);
const sum = (...all: Tensor[]): Tensor => all.reduce((one, other) => one.add(other));

/** Program, what each call is given, and how many translations there may be. */
const cases: Record<string, [() => World, number]> = {
  'an arrow of its own': [world(apply, () => (x: Tensor) => x.mul(2)), 1],
  'a function expression': [world(apply, () => (x: Tensor) => relu(x).mul(2)), 1],
  'in an object of options': [
    world(
      (x, { activation, rate }: { activation: Unary; rate: number }) => activation(x).mul(rate),
      () => ({
        activation: (x: Tensor) => relu(x.mul(2)),
        rate: 5,
      }),
    ),
    1,
  ],
  'a method of an object of options': [
    world(
      (x, options: { step(x: Tensor): Tensor }) => options.step(x),
      () => ({
        step(x: Tensor) {
          return x.mul(7);
        },
      }),
    ),
    1,
  ],
  'a constant around it': [
    world(apply, () => {
      const scale = 3;
      return (x: Tensor) => x.mul(scale);
    }),
    1,
  ],
  'a tensor around it': [
    world(apply, (call) => {
      const weight = values([3], call);
      return (x: Tensor) => x.mul(weight);
    }),
    1,
  ],
  'a number around it that differs': [
    world(apply, (call) => {
      const factor = call + 2;
      return (x: Tensor) => x.mul(factor);
    }),
    2,
  ],
  'a function around it': [
    world(apply, () => {
      const inner = (x: Tensor) => x.sub(1);
      return (x: Tensor) => [x].map(inner)[0]!;
    }),
    1,
  ],
  'a function around a function around it': [
    world(apply, (call) => {
      const rate = values([3], call);
      const inner = (x: Tensor) => x.sub(rate);
      const outer = (x: Tensor) => inner(x).mul(2);
      return (x: Tensor) => outer(x).add(rate);
    }),
    1,
  ],
  'in an array': [
    world(
      (x, steps: readonly Unary[]) => steps.reduce((y, step) => step(y), x),
      () => [(x: Tensor) => x.mul(2), (x: Tensor) => x.add(1)],
    ),
    1,
  ],
  'in arrays of objects': [
    world(
      (x, layers: readonly { act: Unary; norms: Unary[] }[]) => {
        for (const { act, norms } of layers) for (const norm of norms) x = norm(act(x));
        return x;
      },
      () => [1, 2].map(() => ({ act: (x: Tensor) => x.mul(2), norms: [(x: Tensor) => x.add(1)] })),
    ),
    1,
  ],
  'an arrow of a method': [world(apply, () => new Holder().make()), 1],
  'an arrow that makes functions': [
    world(apply, () => (x: Tensor) => [1, 2].reduce((sum, n) => sum.add(n), x)),
    1,
  ],
  'called twice': [
    world(
      (x, f: Unary) => f(f(x)),
      () => (x: Tensor) => x.mul(2),
    ),
    1,
  ],
  'called in noGrad': [
    world(
      (x, f: () => Tensor) => [noGrad(f), x.mul(2)],
      () => () => kept(base),
    ),
    1,
  ],
  'another code': [
    world(apply, (call) => (call % 2 === 0 ? (x: Tensor) => x.mul(2) : (x: Tensor) => x.add(2))),
    2,
  ],
  'one function, then others of its code': [
    world(apply, (call) => (call < 3 ? kept : (x: Tensor) => x.mul(3))),
    2,
  ],
  'a bound function': [
    world(apply, () =>
      function (this: number, x: Tensor) {
        return x.mul(2);
      }.bind(5),
    ),
    1,
  ],
  'a bound method, whose instance differs': [
    world(apply, (call) => {
      const layer = new Layer(values([3], call));
      return layer.forward.bind(layer);
    }),
    1,
  ],
  'a bound method that uses super and private names': [
    world(apply, () => {
      const layer = new Scaled();
      return layer.forward.bind(layer);
    }),
    1,
  ],
  'bound arguments: tensors, objects, functions': [
    world(apply, (call) =>
      weighed.bind(null, values([3], call), { rate: 2 }, (x: Tensor) => x.add(1)),
    ),
    1,
  ],
  'bound twice': [
    world(apply, (call) =>
      weighed
        .bind(null, values([3], call))
        .bind(null, { rate: 2 }, (x: Tensor) => relu(x))
        .bind(null),
    ),
    1,
  ],
  'a bound number that differs': [world(apply, (call) => scaled.bind(null, call + 2)), 2],
  'a bound built-in': [
    world(
      (x, max: (n: number) => number) => x.mul(max(3)),
      () => Math.max.bind(null, 2),
    ),
    1,
  ],
  'a bound method of a tensor': [
    world(
      (x, add: Unary) => add(x),
      (call) => {
        const base = values([3], call);
        return base.add.bind(base);
      },
    ),
    1,
  ],
  'a bound method in an object of options': [
    world(
      (x, { norm }: { norm: Unary }) => norm(x).mul(2),
      (call) => {
        const layer = new Layer(values([3], call));
        return { norm: layer.forward.bind(layer) };
      },
    ),
    1,
  ],
  'a variable of a function: a bound one': [
    world(apply, (call) => {
      const inner = scaled.bind(null, 3);
      return (x: Tensor) => inner(x).add(call > 20 ? 1 : 0);
    }),
    2,
  ],
  'a bound function, with another number of arguments': [
    world(apply, (call) =>
      call % 2 ? sum.bind(null, values([3])) : sum.bind(null, values([3]), values([3])),
    ),
    2,
  ],
  'bound inside, before the graph ends': [
    world(
      (x) => {
        const f = scaled.bind(null, 3);
        const total = x.sum().itemSync();
        return f(x.add(total));
      },
      () => 0,
    ),
    2,
  ],
  'a variable that changes between calls': [
    world(apply, (call) => {
      changing = call + 2;
      return (x: Tensor) => x.mul(changing);
    }),
    2,
  ],
  'an object around it that is changed': [
    world(apply, (call) => {
      mode.scale = call < 4 ? 2 : 5;
      return (x: Tensor) => x.mul(mode.scale);
    }),
    2,
  ],
};

/** Where the function itself can be seen, it is the one that was given. */
const seen: Record<string, () => World> = {
  'it is returned': world(
    (x, f: Unary) => [f(x), f],
    () => (x: Tensor) => x.mul(2),
  ),
  'it is taken out of an array': world(
    (x, fs: Unary[]) => [fs[0]!(x), fs.pop(), fs.includes(kept)],
    (call) => (call % 2 ? [kept, kept] : [(x: Tensor) => x.mul(2), kept]),
  ),
  'the array has a getter': world(
    (x, fs: Unary[]) => fs[0]!(x),
    () =>
      Object.defineProperty([kept], 0, {
        get: () => (x: Tensor) => x.mul(4),
      }),
  ),
  'a function around it is returned': world(
    (x, f: () => Unary) => [x.mul(2), f()],
    () => {
      const inner = (x: Tensor) => x.mul(2);
      return () => inner;
    },
  ),
  'it is compared': world(
    (x, f: Unary) => [f(x), f === kept],
    (call) => (call % 2 ? kept : (x: Tensor) => x.mul(2)),
  ),
  'it is bound, and returned': world(
    (x, f: Unary) => [f(x), f.name, f.length, f],
    () => scaled.bind(null, 3),
  ),
  'it is bound, and compared': world(
    (x, f: Unary) => [f(x), f === boundOnce],
    (call) => (call % 2 ? boundOnce : scaled.bind(null, 3)),
  ),
  'it is bound to a function that throws': world(apply, (call) =>
    ((limit: number, x: Tensor) => {
      if (call % 2) throw new RangeError(`limit ${limit}`);
      return x.mul(limit);
    }).bind(null, 3),
  ),
  'it is bound, with properties': world(
    (x, f: Unary & { rate: number }) => f(x).mul(f.rate),
    (call) => Object.assign(scaled.bind(null, 3), { rate: call }),
  ),
  'it is a key': world(
    (x, f: Unary) => {
      const counts = new Map<Unary, number>();
      counts.set(f, 1);
      return [f(x), counts.get(f), counts.has(kept)];
    },
    (call) => (call % 2 ? kept : (x: Tensor) => x.mul(2)),
  ),
  'it has properties': world(
    (x, f: Unary & { rate: number }) => f(x).mul(f.rate),
    (call) => Object.assign((x: Tensor) => x.mul(2), { rate: call }),
  ),
  'its graph breaks inside': world(apply, (call) => (x: Tensor) => {
    const value = x.sum().itemSync();
    return x.mul(value + call);
  }),
  'it returns a function that reads around it': world(
    (x, f: () => Unary) => {
      const g = f();
      return [g(x), g];
    },
    (call) => () => (x: Tensor) => x.mul(call + 1),
  ),
  'it assigns a variable around it': world(
    (x, f: Unary) => f(x),
    (call) => {
      let count = call;
      return (x: Tensor) => {
        count += 1;
        return x.mul(count);
      };
    },
  ),
  'the program assigns a variable that it reads': () => {
    let shared = 1;
    return {
      fn: (x: Tensor, f: () => number) => {
        shared += 1;
        return x.mul(f());
      },
      args: () => [values([3]), () => shared],
      state: () => shared,
    };
  },
  'it throws': world(apply, (call) => (x: Tensor) => {
    if (call % 2) throw new RangeError(`call ${call}`);
    return x.mul(2);
  }),
};

describe('a function that is passed', () => {
  it.each(Object.entries(cases))('%s', (_, [make, most]) => {
    const { translations, stats } = expectSameAsEager(make, { calls: 12 });
    expect(translations.at(-1)).toBeLessThanOrEqual(most);
    if (most < 8) expect(stats.fallbacks).toEqual([]);
  });

  it.each(Object.entries(seen))('is the one that was given: %s', (_, make) => {
    expectSameAsEager(make, { calls: 6 });
  });
});
