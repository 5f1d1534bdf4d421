// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
// biome-ignore-all lint/correctness/noConstructorReturn: what it does is tested.
/** Classes that captured code defines: in the graph while neither they nor their instances leave it. */

import { describe, expect, it } from 'vitest';
import { nn, type Tensor } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

const world = (fn: (x: Tensor) => unknown) => (): World => ({ fn, args: () => [weights([3])] });

class Outer {
  static made = 0;
  factor: number;

  constructor(factor: number) {
    this.factor = factor;
  }

  scaled(x: Tensor): Tensor {
    return x.mul(this.factor);
  }

  get doubled(): number {
    return this.factor * 2;
  }

  static named(text: string): string {
    return `${this.name} ${text}`;
  }
}

const inGraph: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a constructor, fields and methods': (x) => {
    class Line {
      slope = 2;
      readonly offset;
      constructor(offset: number) {
        this.offset = offset + this.slope;
      }
      at(t: Tensor): Tensor {
        return t.mul(this.slope).add(this.offset);
      }
    }
    return new Line(1).at(x);
  },
  'fields alone, in their order, that see each other': (x) => {
    const log: string[] = [];
    const note = (text: string, value: number) => {
      log.push(text);
      return value;
    };
    class Fields {
      b = note('b', 2);
      a = note('a', this.b + 1);
      ['computed'] = note('computed', 4);
    }
    const made = new Fields();
    return [x.mul(made.a), log, Object.keys(made), made.computed];
  },
  'getters, setters and what assigns through them': (x) => {
    class Box {
      held = x;
      sets = 0;
      get value(): Tensor {
        return this.held.add(this.sets);
      }
      set value(next: Tensor) {
        this.sets++;
        this.held = next;
      }
    }
    const box = new Box();
    box.value = box.value.mul(3);
    return [box.value, box.sets, Object.keys(box), 'value' in box, Object.hasOwn(box, 'value')];
  },
  'statics: fields, methods, blocks, accessors, assignments': (x) => {
    class Counter {
      static count = 1;
      static step = 2;
      static {
        this.count += this.step;
      }
      static next(): number {
        this.count += Counter.step;
        return this.count;
      }
      static get twice(): number {
        return this.count * 2;
      }
      static set twice(value: number) {
        this.count = value / 2;
      }
    }
    Counter.next();
    Counter.twice = Counter.twice + 2;
    return x.mul(Counter.count);
  },
  'extends a class beside it, with super calls, fields and methods': (x) => {
    class Base {
      tag = 'base';
      constructor(readonly by: number) {
        this.by = by;
      }
      apply(t: Tensor): Tensor {
        return t.mul(this.by);
      }
      static kind = 'kind of base';
      static about(): string {
        return `${this.kind}, ${this.name}`;
      }
    }
    class Derived extends Base {
      override tag = 'derived';
      static override kind = 'kind of derived';
      constructor(by: number) {
        super(by + 1);
      }
      override apply(t: Tensor): Tensor {
        return super.apply(t).add(1);
      }
      static override about(): string {
        return `${super.about()}!`;
      }
    }
    class Last extends Derived {}
    const made = new Last(2);
    return [
      made.apply(x),
      made.tag,
      made.by,
      Last.about(),
      made instanceof Base,
      made instanceof Derived,
      new Base(1) instanceof Derived,
      Object.getPrototypeOf(Last) === Derived,
      made.constructor === Last,
      Last.name,
      Last.length,
      typeof Last,
    ];
  },
  'super getters see the instance': (x) => {
    class Base {
      k = 3;
      get scale(): number {
        return this.k;
      }
    }
    class Derived extends Base {
      override k = 5;
      override get scale(): number {
        return super.scale + 1;
      }
    }
    return x.mul(new Derived().scale);
  },
  'extends a class that existed before': (x) => {
    class More extends Outer {
      extra = this.factor + 1;
      override scaled(t: Tensor): Tensor {
        return super.scaled(t).add(this.extra).mul(this.doubled);
      }
    }
    const more = new More(3);
    return [more.scaled(x), more instanceof Outer, More.named('one')];
  },
  'expressions: named by variables, with their own names, mixins': (x) => {
    const Anonymous = class {
      k = 2;
    };
    const Named = class Inside {
      own = Inside.name;
    };
    const mixin = (Base: new (...args: number[]) => Outer) =>
      class extends Base {
        twice(t: Tensor): Tensor {
          return this.scaled(this.scaled(t));
        }
      };
    const Mixed = mixin(Outer);
    return [x.mul(new Anonymous().k), Anonymous.name, new Named().own, new Mixed(2).twice(x)];
  },
  'closures and arrows inside, which see the instance and super': (x) => {
    let calls = 0;
    class Base {
      add(t: Tensor): Tensor {
        return t.add(1);
      }
    }
    class Arrows extends Base {
      k = 4;
      times = (t: Tensor) => t.mul(this.k);
      override add(t: Tensor): Tensor {
        const above = () => super.add(t);
        calls++;
        return [above()].map((each) => this.times(each))[0]!;
      }
    }
    return [new Arrows().add(x), calls];
  },
  'a constructor that returns another object': (x) => {
    class Other {
      k = 1;
      constructor(given: boolean) {
        if (given) return { k: 7 } as Other;
      }
    }
    return x.mul(new Other(true).k).add(new Other(false).k);
  },
  'new.target, generators, iteration and computed keys': (x) => {
    const key = 'scale';
    class Listed {
      made: number;
      constructor() {
        this.made = new.target === Listed ? 1 : 0;
      }
      *[Symbol.iterator](): Generator<Tensor> {
        yield x;
        yield x.mul(this.made + 1);
      }
      [key](): number {
        return 3;
      }
    }
    let sum = x;
    for (const each of new Listed()) sum = sum.add(each);
    return sum.mul(new Listed()[key]());
  },
  'methods with super in literals': (x) => {
    const base = { scale: (t: Tensor) => t.mul(2) };
    const made = {
      __proto__: base,
      scale(t: Tensor): Tensor {
        return (super['scale' as never] as typeof base.scale)(t).add(1);
      },
    };
    return made.scale(x);
  },
  'assignments to super, past and through setters': (x) => {
    const log: unknown[] = [];
    class Above extends Outer {
      declare kept: number;
      set noted(value: number) {
        log.push(value, this.factor);
      }
    }
    class Below extends Above {
      override kept = 1;
      set fresh(_value: number) {
        log.push('not called');
      }
      change(t: Tensor): Tensor {
        (super['kept' as never] as number) = 5;
        super.noted = 7;
        (super['fresh' as never] as number) = 8;
        (super['factor' as never] as number) = 4;
        return t.mul(this.kept + this.factor);
      }
    }
    const below = new Below(3);
    const base = { at: 1 };
    const literal = {
      __proto__: base,
      move(t: Tensor): Tensor {
        (super['at' as never] as Tensor) = t.mul(2);
        return (this as never as { at: Tensor }).at.add(base.at);
      },
    };
    return [below.change(x), literal.move(x), Object.keys(below), Object.keys(literal), log];
  },
  'prototypes that are changed': (x) => {
    class Open {
      first(): number {
        return 1;
      }
    }
    const made = new Open() as Open & { second(): number };
    (Open.prototype as unknown as Record<string, unknown>)['second'] = () => 2;
    Open.prototype.first = () => 5;
    return x.mul(made.first() + made.second());
  },
};

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
