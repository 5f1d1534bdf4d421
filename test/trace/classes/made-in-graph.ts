// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
// biome-ignore-all lint/correctness/noConstructorReturn: what it does is tested.
/** Functions that define classes and use them in the graph. */

import type { Tensor } from '../../../src/index.ts';

export class Outer {
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

export const inGraph: Readonly<Record<string, (x: Tensor) => unknown>> = {
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
