// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
// biome-ignore-all lint/correctness/noConstructorReturn: what it does is tested.
/** Classes that captured code defines: in the graph while neither they nor their instances leave it. */

import { describe, expect, it } from 'vitest';
import { nn, type Tensor } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';
import { inGraph, Outer } from './made-in-graph.ts';

const world = (fn: (x: Tensor) => unknown) => (): World => ({ fn, args: () => [weights([3])] });

describe('classes made inside', () => {
  for (const [name, fn] of Object.entries(inGraph)) {
    it(name, () => expectOneGraph(world(fn)));
  }

  it('with private elements are made natively', () => {
    expectSameAsEager(
      world((x) => {
        class Hidden {
          static #made = 0;
          #k = 2 + Hidden.#made++;
          #times(t: Tensor): Tensor {
            return t.mul(this.#k++);
          }
          run(t: Tensor): Tensor {
            return this.#times(this.#times(t));
          }
        }
        return new Hidden().run(x);
      }),
    );
  });

  it('extend the class that a variable names in each call', () => {
    const make = () => {
      class Twice extends Outer {
        override scaled(x: Tensor): Tensor {
          return x.mul(this.factor * 2);
        }
      }
      let base: typeof Outer = Outer;
      return {
        fn: (x: Tensor) => {
          class More extends base {}
          const more = new More(3);
          return [more.scaled(x), more instanceof Twice, More.named('it')];
        },
        args: (call: number) => {
          base = call % 2 === 0 ? Outer : Twice;
          return [weights([2])];
        },
      };
    };
    expectOneGraph(make, 4);
  });

  it('named by a static block, as tools that shorten names do', () => {
    expectOneGraph(
      world((x) => {
        const C = class {
          static {
            Object.defineProperty(this, 'name', { value: 'Long', configurable: true });
          }
        };
        return [x.mul(2), C.name, new C().constructor.name];
      }),
    );
  });

  it('are made once per evaluation', () => {
    const make = () => {
      const fn = (x: Tensor) => {
        const types = [1, 2].map(
          (k) =>
            class {
              static k = k;
              by(): number {
                return k;
              }
            },
        );
        const [first, second] = types.map((Type) => new Type());
        const [One, Two] = types;
        return [
          x.mul(first!.by()).add(second!.by()),
          One === Two,
          first instanceof One!,
          first instanceof Two!,
          One!.k + Two!.k,
        ];
      };
      return { fn, args: () => [weights([2])] };
    };
    expectOneGraph(make);
  });

  it('see numbers of the call, and are no trace of their own for each', () => {
    const make = () => ({
      fn: (x: Tensor, by: number) => {
        class Scale {
          constructor(readonly k: number) {
            this.k = k;
          }
          run(t: Tensor): Tensor {
            return t.mul(this.k).add(by);
          }
        }
        return new Scale(by).run(x);
      },
      args: (call: number) => [weights([2]), call + 1],
    });
    const { stats, reasons } = expectSameAsEager(make, { calls: 6 });
    expect(reasons).toEqual([]);
    expect(stats.translations).toBeLessThanOrEqual(2);
  });

  it('as modules, with parameters made inside', () => {
    const make = () => ({
      fn: (x: Tensor) => {
        class Tiny extends nn.Module {
          weight = nn.parameter(values([3], 5));
          override forward(t: Tensor): Tensor {
            return t.mul(this.weight);
          }
        }
        const tiny = new Tiny();
        return [tiny.forward(x), [...tiny.parameters()].length];
      },
      args: () => [weights([3])],
    });
    expectSameAsEager(make);
  });
});
