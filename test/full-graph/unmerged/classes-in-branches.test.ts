/** Classes that a branch or an iteration defines: they stay on their path, with their instances. */

import { describe, expect, it } from 'vitest';
import { FullGraphError, type Tensor, tensor, toStatic } from '../../../src/index.ts';
import { positive, sameAsEager } from '../suite.ts';

const inputs = [() => [tensor([1, 2])], () => [tensor([-3, 1])]];

/** Defined anew by each call. */
const scaledBy = (factor: Tensor) =>
  class Scaled {
    static made = 0;
    readonly #by = factor;
    of: Tensor;
    constructor(of: Tensor) {
      this.of = of;
      Scaled.made++;
    }
    get value(): Tensor {
      return this.of.mul(this.#by);
    }
  };

describe('a class that is defined', () => {
  it('in a branch, with fields, statics and private names', () => {
    sameAsEager((x: Tensor) => {
      if (!positive(x)) return x;
      const Scaled = scaledBy(x.add(1));
      const [a, b] = [new Scaled(x), new Scaled(x.mul(2))];
      return a.value.add(b.value).mul(Scaled.made);
    }, inputs);
  });

  it('in both branches, and before them', () => {
    sameAsEager((x: Tensor) => {
      const Before = scaledBy(x);
      let y: Tensor;
      if (positive(x)) {
        class Inner extends Before {
          override get value(): Tensor {
            return super.value.add(1);
          }
        }
        y = new Inner(x).value;
      } else y = new (scaledBy(x.mul(3)))(x).value;
      return [y, new Before(y).value];
    }, inputs);
  });

  it('in each iteration of a loop', () => {
    sameAsEager(
      (x: Tensor) => {
        let [y, n] = [x, 0];
        while (y.abs().sum().itemSync() < 20) {
          class Twice {
            static of(z: Tensor): Tensor {
              return z.mul(2);
            }
          }
          y = Twice.of(y);
          n++;
        }
        return [y, n];
      },
      [() => [tensor([1, 2])], () => [tensor([12, 3])], () => [tensor([30, 1])]],
    );
  });

  it('in a branch that throws inside and catches', () => {
    const branching = (x: Tensor) => {
      if (!positive(x)) return x.mul(2);
      class Refused extends Error {
        readonly code = 3;
      }
      try {
        throw Object.assign(new Error('no'), { type: Refused.name });
      } catch (error) {
        return x.mul((error as { type: string }).type.length);
      }
    };
    // Runs of one of the paths end at a check, and are eager.
    sameAsEager(branching, inputs, { fallbacks: 1 });
  });
});

describe('an instance of a class of a branch', () => {
  it.each<[string, (x: Tensor) => unknown]>([
    ['that is a result', (x) => (positive(x) ? new (scaledBy(x.add(1)))(x) : x)],
  ])('%s is refused by name', (_, f) => {
    expect(() => toStatic(f, { fullGraph: true })(tensor([1, 2]))).toThrow(FullGraphError);
    expect(() => toStatic(f, { fullGraph: true })(tensor([1, 2]))).toThrow(/class/);
    // Elsewhere the graph breaks there, or the call runs eagerly.
    const auto = toStatic(f, { capture: 'auto' });
    for (const make of inputs) {
      const [x] = make() as [Tensor];
      const [expected, found] = [f(x), auto(x)] as { readonly value?: Tensor }[];
      const plain = (own: unknown) =>
        ((own as { value?: Tensor }).value ?? (own as Tensor)).tolist();
      expect(plain(found)).toEqual(plain(expected));
    }
  });
});
