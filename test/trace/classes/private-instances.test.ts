/** Instances with private elements that captured code makes: they live in the graph while nothing outside sees them. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

class Affine {
  static #made = 0;
  static readonly log: unknown[] = [];
  static #label = 'affine';
  #scale: number;
  #shift = 1;
  #calls = 0;
  #last: Tensor | null = null;

  constructor(scale: number) {
    this.#scale = scale;
    Affine.#made++;
  }

  static get made(): number {
    return Affine.#made;
  }

  static #describe(of: string): string {
    return `${Affine.#label} ${of}`;
  }

  static describe(): string {
    return Affine.#describe('layer');
  }

  static isOne(value: object): boolean {
    return #scale in value && #apply in value && #factor in value;
  }

  get #factor(): number {
    return this.#scale * 2;
  }

  set #factor(value: number) {
    Affine.log.push(['factor', value]);
    this.#scale = value / 2;
  }

  #apply(x: Tensor): Tensor {
    this.#calls++;
    return x.mul(this.#factor).add(this.#shift);
  }

  forward(x: Tensor): Tensor {
    this.#last = this.#apply(x);
    this.#factor += 2;
    return this.#last.tanh();
  }

  get calls(): number {
    return this.#calls;
  }

  same(other: Affine): boolean {
    return this.#scale === other.#scale && this.#last === other.#last;
  }

  twice(x: Tensor): Tensor {
    const once = (y: Tensor) => this.#apply(y);
    return once(once(x));
  }

  method(): (x: Tensor) => Tensor {
    return this.#apply;
  }

  static break(x: Tensor): unknown {
    const own = new Affine(3);
    const y = own.forward(x);
    const value = y.sum().itemSync();
    return [own.forward(y.mul(value)), own.calls];
  }

  static wrong(given: object): unknown {
    return (given as Affine).#apply(values([2]));
  }

  freeze(): unknown {
    Object.freeze(this);
    this.#shift = 4;
    return [
      this.#shift,
      Object.isFrozen(this),
      Object.keys(this),
      JSON.stringify(this),
      { ...this },
    ];
  }
}

class Gated extends Affine {
  #gate: number;
  readonly open: number;
  #history: Tensor[] = [];

  constructor(scale: number, gate: number) {
    super(scale);
    this.#gate = gate;
    this.open = this.#gate + 1;
  }

  override forward(x: Tensor): Tensor {
    const y = super.forward(x).mul(this.#gate);
    this.#history.push(y);
    return this.#history.reduce((a, b) => a.add(b));
  }
}

class Broken {
  #value: number;

  constructor(x: Tensor) {
    this.#value = x.sum().itemSync();
  }

  get value(): number {
    return this.#value;
  }
}

const makeClass = (rate: number) =>
  class Made {
    #rate = rate;
    run(x: Tensor): Tensor {
      return x.mul(this.#rate);
    }
    isOne(value: object): boolean {
      return #rate in value;
    }
  };

/** Classes that no name leads to: without one, or with one that the engine drops, as nothing in the class reads it. */
const Unnamed = class {
  #scale = 2;
  #last: Tensor | null = null;
  get #factor(): number {
    return this.#scale * 2;
  }
  set #factor(value: number) {
    this.#scale = value / 2;
  }
  #apply(x: Tensor): Tensor {
    this.#factor += 1;
    return x.mul(this.#factor);
  }
  forward(x: Tensor): Tensor {
    const apply = (y: Tensor) => this.#apply(y);
    this.#last = apply(x);
    return this.#last.tanh();
  }
  get scale(): number {
    return this.#scale;
  }
  set scale(value: number) {
    this.#scale = value;
  }
  static isOne(value: object): boolean {
    return #scale in value;
  }
};

class ParentAlone {
  #shift = 1;
  shift(): number {
    return this.#shift;
  }
}

class Child extends ParentAlone {
  #shift = 3;
  add(x: Tensor): Tensor {
    return x.add(this.#shift * this.shift());
  }
}

const withGate = (Parent: typeof Child) =>
  class extends Parent {
    #gate = 5;
    gate(x: Tensor): Tensor {
      return x.mul(this.#gate);
    }
  };
const GatedChild = withGate(Child);

const world = (fn: (x: Tensor, call: number) => unknown): (() => World) => {
  return () => ({
    fn,
    args: (call) => [weights([2, 3], call), call],
  });
};

/** Nothing outside sees the instances: one graph. */
const inside: Record<string, (x: Tensor, call: number) => unknown> = {
  'fields, methods, getters and setters': (x) => {
    const layer = new Affine(3);
    return [layer.forward(layer.forward(x)), layer.calls];
  },
  'a subclass, whose parent has others': (x) => {
    const layer = new Gated(2, 5);
    return [layer.forward(layer.forward(x)), layer.calls, layer.open];
  },
  'static ones': (x) => [x.mul(2), Affine.describe(), Affine.isOne(Affine)],
  'what has them': (x) => {
    const layer = new Gated(2, 5);
    return [Affine.isOne(layer) ? layer.forward(x) : x, Affine.isOne({}), Affine.isOne([])];
  },
  'several instances': (x) => {
    const layers = [1, 2, 3].map((scale) => new Affine(scale));
    return [layers.reduce((y, layer) => layer.forward(y), x), layers[0]!.same(layers[1]!)];
  },
  'an arrow of a method': (x) => new Affine(2).twice(x),
  'of a list of them': (x) => {
    const known = new Map<string, Affine>([['a', new Affine(2)]]);
    known.set('b', new Gated(1, 2));
    let y = x;
    for (const layer of known.values()) y = layer.forward(y);
    return y;
  },
  'a class without a name': (x) => {
    const layer = new Unnamed();
    layer.scale += 3;
    return [layer.forward(layer.forward(x)), layer.scale, Unnamed.isOne(layer), Unnamed.isOne({})];
  },
  'a class that is known as a parent alone': (x) => new Child().add(x),
  'a class that a function makes': (x) => {
    const layer = new GatedChild();
    return layer.gate(layer.add(x));
  },
  'frozen ones, and none of their keys': (x) => [x.mul(2), new Affine(2).freeze()],
};

/** The instance is seen outside, or the graph breaks while it is used: it is the user's own object then. */
const seen: Record<string, (x: Tensor, call: number) => unknown> = {
  'it is returned': (x) => {
    const layer = new Affine(2);
    const y = layer.forward(x);
    return [y, Affine.isOne(layer), layer.calls, layer];
  },
  'it is in what is returned': (x) => [x.mul(2), { layers: [new Gated(2, 3)] }],
  'a function around it is returned': (x) => {
    const layer = new Affine(2);
    const f = () => layer.calls;
    return [layer.forward(x), f, f()];
  },
  'the graph breaks': (x) => Affine.break(x),
  'the graph breaks in its constructor': (x) => new Broken(x).value,
  'a private method is returned': (x) => {
    const f = new Affine(2).method();
    return [x.mul(2), typeof f, f.name];
  },
  'it is thrown': (x) => {
    try {
      throw new Affine(2);
    } catch (e) {
      return [(e as Affine).forward(x), e instanceof Affine];
    }
  },
  'another object has none': (x, call) => {
    try {
      return [x.mul(2), Affine.wrong(call % 2 ? [] : {})];
    } catch (e) {
      return (e as Error).message;
    }
  },
  'classes of one text': (x, call) => {
    const [A, B] = [makeClass(2), makeClass(call + 1)];
    const [a, b] = [new A(), new B()];
    return [b.run(a.run(x)), a.isOne(b), a.isOne(a)];
  },
};

describe('private elements of instances that captured code makes', () => {
  it.each(Object.entries(inside))('%s: in one graph', (_, fn) => {
    const { stats } = expectSameAsEager(world(fn), { calls: 4 });
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
    // The count of instances is a constant at first.
    expect(stats.translations).toBeLessThanOrEqual(2);
  });

  it('a number that only statics know changes: in two graphs', () => {
    const { stats } = expectSameAsEager(
      world((x) => {
        const before = Affine.made;
        return [new Affine(2).forward(x), Affine.made - before];
      }),
      { calls: 4 },
    );
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it.each(Object.entries(seen))('%s', (_, fn) => {
    expectSameAsEager(world(fn), { calls: 4 });
  });

  it('an object that existed before: its getters and setters are followed', () => {
    const { stats } = expectSameAsEager(
      () => {
        const layer = new Affine(2);
        return {
          fn: (x: Tensor, own: Affine) => [own.forward(x), own.forward(x), own.calls > 0],
          args: (call) => [weights([2, 3], call), layer],
          state: () => [Affine.log.length % 2, layer.calls],
        };
      },
      { calls: 4 },
    );
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it('an object of a class without a name that existed before', () => {
    const { stats } = expectSameAsEager(
      () => {
        const layer = new Unnamed();
        return {
          fn: (x: Tensor, own: typeof layer) => [own.forward(x), own.scale, Unnamed.isOne(own)],
          args: (call) => [weights([2, 3], call), layer],
          state: () => [layer.scale],
        };
      },
      { calls: 4 },
    );
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });

  it('which objects have them is asked at every call', () => {
    const { stats } = expectSameAsEager(
      () => {
        const given = [new Affine(2), {}, new Gated(1, 2), [] as unknown[]];
        return {
          fn: (x: Tensor, own: object) => (Affine.isOne(own) ? x.mul(2) : x.add(1)),
          args: (call) => [weights([2, 3]), given[call % 4]],
        };
      },
      { calls: 8 },
    );
    expect(stats).toMatchObject({ breaks: [], fallbacks: [] });
  });
});
