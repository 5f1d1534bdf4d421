// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
/** Classes that captured code defines and that leave the graph, or whose instances do: they are made natively. */

import { describe, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';

describe('what leaves the graph', () => {
  const leaving: Readonly<Record<string, (x: Tensor, log: unknown[]) => unknown>> = {
    'an instance': (x) => {
      class Kept {
        k = x.mul(2);
        get twice(): Tensor {
          return this.k.mul(2);
        }
      }
      const kept = new Kept();
      return [kept.k, kept.constructor.name, Object.keys(kept), kept];
    },
    'an instance in a list of the caller': (x, log) => {
      class Kept {
        k = 3;
        by(): number {
          return this.k;
        }
      }
      const kept = new Kept();
      log.push([kept.by(), kept.constructor.name]);
      log.push(kept.k);
      return x.mul(kept.by());
    },
    'a class': (x) => {
      class Made {
        static k = 2;
      }
      return [x.mul(Made.k), Made.name, Made.k];
    },
    'over a break, while its method runs': (x, log) => {
      class Broken {
        k = 2;
        run(t: Tensor): Tensor {
          const sum = t.sum().itemSync();
          log.push(sum);
          return t.mul(sum).add(this.k);
        }
      }
      class Above extends Broken {
        override run(t: Tensor): Tensor {
          return super.run(t).add(1);
        }
      }
      return new Above().run(x);
    },
    'over a break, in its constructor': (x, log) => {
      class Broken {
        k: number;
        constructor() {
          log.push('begun');
          this.k = x.sum().itemSync();
        }
      }
      class Above extends Broken {
        more = this.k + 1;
      }
      return x.mul(new Above().more);
    },
    'a method': (x) => {
      class Made {
        by(t: Tensor): Tensor {
          return t.mul(2);
        }
      }
      const { by } = Made.prototype;
      return [by(x), by.name, by.length];
    },
    'an error of a class that captured code creates': (x) => {
      class Refused extends Error {
        code = 3;
      }
      try {
        throw new Refused('no');
      } catch (error) {
        return [x.mul((error as Refused).code), (error as Refused).message];
      }
    },
    'what extends a class of the language': (x) => {
      class List extends Array<Tensor> {
        total(): Tensor {
          return this.reduce((a, b) => a.add(b));
        }
      }
      class Table extends Map<string, Tensor> {
        both(): Tensor {
          return this.get('a')!.add(this.get('b')!);
        }
      }
      const list = List.of(x, x.mul(2)) as List;
      const table = new Table([['a', x]]).set('b', x.mul(3));
      return [
        list.total(),
        list instanceof List,
        (table as Table).both(),
        List.from([x]) instanceof List,
        new List().length,
      ];
    },
    'instanceof as a class above says it': (x) => {
      class Even {
        static [Symbol.hasInstance](value: unknown): boolean {
          return value === 2;
        }
      }
      class Heir extends Even {}
      return [x.mul(2), (2 as unknown as object) instanceof Heir, new Heir() instanceof Heir];
    },
    'called without new': (x) => {
      class Made {}
      try {
        (Made as unknown as () => void)();
        return x;
      } catch (error) {
        return [x.add(1), (error as Error).name];
      }
    },
    'a class with a tag of its own for instanceof': (x) => {
      class Even {
        static [Symbol.hasInstance](value: unknown): boolean {
          return value === 2;
        }
      }
      return [x, (2 as unknown as object) instanceof Even, new Even() instanceof Even];
    },
  };
  for (const [name, fn] of Object.entries(leaving)) {
    it(name, () => {
      const make = (): World => {
        const log: unknown[] = [];
        return {
          fn: (x: Tensor) => fn(x, log),
          args: () => [weights([3])],
          state: () => log,
        };
      };
      for (const mode of [{}, { capture: 'auto' }] as const) expectSameAsEager(make, mode);
    });
  }

  it('branches and loops of the program follow instances that were made natively', () => {
    const make = () => ({
      fn: (x: Tensor) => {
        class Scale {
          k = 1;
          run(t: Tensor): Tensor {
            return t.mul(this.k);
          }
        }
        const scale = new Scale();
        if (x.sum().itemSync() > 0) scale.k = 3;
        else scale.k = 5;
        return scale.run(x);
      },
      args: (call: number) => [weights([3], call)],
    });
    for (const mode of [{}, { capture: 'auto' }] as const) expectSameAsEager(make, mode);
  });
});
