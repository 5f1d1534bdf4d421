/** Private names in captured methods: eager execution is the oracle. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, weights } from '../same-as-eager.ts';

class Layer {
  static #count = 0;
  readonly log: unknown[] = [];
  #weight = weights([3, 3]);
  #calls = 0;
  #pair: unknown = [1, 2];
  readonly #method = 5;

  get #scale() {
    this.log.push('scale');
    return 2;
  }

  #twice(x: Tensor): Tensor {
    return x.mul(this.#scale);
  }

  forward(x: Tensor): unknown {
    this.#calls++;
    Layer.#count += 2;
    this.#calls += this.#method;
    const y = this.#twice(x.matmul(this.#weight)).relu();
    [this.#pair, this.#calls] = [[y.shape.length], this.#calls * 2];
    const has = [this, {}].map((o) => #weight in o);
    return [y.add(1), this.#calls, this.#pair, Layer.#count > 0, has];
  }

  other(x: Tensor, o: Layer | null): unknown {
    try {
      return [x.mul(2), o!.#calls, (() => o!.#twice(x))()];
    } catch (e) {
      return [x.neg(), (e as Error).message];
    }
  }

  called(x: Tensor): unknown {
    try {
      return (this.#calls as unknown as (x: Tensor) => Tensor)(x);
    } catch (e) {
      return (e as Error).message;
    }
  }
}

class Meter {
  #count = 0;
  #total = weights([2]);

  get count() {
    return this.#count;
  }

  get total() {
    return this.#total;
  }

  add(x: Tensor): void {
    this.#count += 2;
    this.#total = this.#total.mul(0.5).add(x);
  }

  forward(x: Tensor, other: Meter): unknown {
    this.add(x);
    other.add(x.neg());
    const { count, total } = other;
    return [this.total.mul(this.count), this.#total.sub(this.#count), total, count];
  }
}

describe('private names in a captured method', () => {
  it('are read, written, called and looked for', () => {
    const { stats } = expectSameAsEager(() => {
      const layer = new Layer();
      return {
        fn: layer.forward,
        thisValue: layer,
        args: () => [values([2, 3])],
        state: () => layer.log,
      };
    });
    expect(stats.fallbacks).toEqual([]);
    expect(stats.graphs).toBeGreaterThan(0);
  });

  it('fail as they do natively', () => {
    const { stats } = expectSameAsEager(() => {
      const layer = new Layer();
      const others = [layer, null, {}];
      return {
        fn: layer.other,
        thisValue: layer,
        args: (call) => [values([2, 3]), others[call]],
      };
    });
    expect(stats.fallbacks).toEqual([]);
    expectSameAsEager(() => {
      const layer = new Layer();
      return { fn: layer.called, thisValue: layer, args: () => [values([2])] };
    });
  });

  it('are the same in each method: later calls compile nothing', () => {
    for (const isOne of [false, true]) {
      const { stats, translations } = expectSameAsEager(
        () => {
          const meters = [new Meter(), new Meter()];
          return {
            fn: meters[0]!.forward,
            thisValue: meters[0],
            args: (call) => [values([2]), meters[isOne || call === 4 ? 0 : 1]],
          };
        },
        { calls: 8 },
      );
      expect(stats.fallbacks).toEqual([]);
      expect(translations.at(-1)).toBe(translations.at(-3));
      expect(translations[3]).toBe(translations[2]);
    }
  });
});
