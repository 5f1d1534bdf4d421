// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
/** Private elements of classes that captured code defines: in the graph while nothing of the class leaves it. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';

const world = (fn: (x: Tensor) => unknown) => (): World => ({ fn, args: () => [weights([3])] });

/** What the language throws for it, by name and words. */
function thrownBy(body: () => unknown): string {
  try {
    return String(body());
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

const inGraph: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'fields, of numbers and tensors, that are read, written and counted': (x) => {
    class Layer {
      #scale = 2;
      #last = x;
      #calls = 0;
      run(t: Tensor): Tensor {
        this.#calls++;
        this.#scale *= 1.5;
        this.#last = this.#last.add(t).mul(this.#scale);
        return this.#last;
      }
      get calls(): number {
        return this.#calls;
      }
    }
    const layer = new Layer();
    const [one, other] = [layer.run(x), layer.run(x)];
    return [one.add(other), layer.calls, Object.keys(layer), JSON.stringify(layer), { ...layer }];
  },
  'methods, accessors with one half and with two': (x) => {
    class Layer {
      #by = 3;
      #log: string[] = [];
      #scaled(t: Tensor): Tensor {
        return t.mul(this.#by);
      }
      get #twice(): number {
        this.#log.push('get');
        return this.#by * 2;
      }
      set #twice(value: number) {
        this.#log.push('set');
        this.#by = value / 2;
      }
      get #read(): number {
        return this.#by;
      }
      run(): unknown[] {
        this.#twice += 4;
        return [this.#scaled(x), this.#twice, this.#read, this.#log, this.#scaled.name];
      }
    }
    return new Layer().run();
  },
  'statics: fields, methods and accessors': (x) => {
    class Layer {
      static #made = 0;
      static #of(t: Tensor): Tensor {
        Layer.#made++;
        return t.mul(2);
      }
      static get #count(): number {
        return this.#made;
      }
      static run(t: Tensor): unknown[] {
        return [Layer.#of(Layer.#of(t)), Layer.#count, Object.keys(Layer)];
      }
    }
    return Layer.run(x);
  },
  'names of a parent and an heir that are spelled alike': (x) => {
    class Parent {
      #k = 2;
      one(t: Tensor): Tensor {
        return t.mul(this.#k++);
      }
    }
    class Heir extends Parent {
      #k = 10;
      two(t: Tensor): Tensor {
        return this.one(t).add(this.#k++);
      }
      get k(): number {
        return this.#k;
      }
    }
    const heir = new Heir();
    return [heir.two(x), heir.two(x), heir.k];
  },
  'a class that is made twice: names are those of each time': (x) => {
    const make = (by: number) =>
      class Made {
        #by = by;
        run(t: Tensor): Tensor {
          return t.mul(this.#by);
        }
        static has(value: object): boolean {
          return #by in value;
        }
      };
    const [First, Second] = [make(2), make(3)];
    const [one, other] = [new First(), new Second()];
    const had = [First.has(one), First.has(other), Second.has(one), Second.has(other)];
    return [one.run(other.run(x)), had, thrownBy(() => First.prototype.run.call(other, x))];
  },
  'what the language throws for objects without the name': (x) => {
    class Layer {
      #field = 1;
      static #own = 2;
      #method(): number {
        return 3;
      }
      get #half(): number {
        return 4;
      }
      set #other(_value: number) {}
      static run(given: unknown): string[] {
        const layer = given as Layer;
        return [
          thrownBy(() => layer.#field),
          thrownBy(() => {
            layer.#field = 5;
          }),
          thrownBy(() => layer.#method()),
          thrownBy(() => layer.#half),
          thrownBy(() => {
            layer.#other = 1;
          }),
          thrownBy(() => (given as typeof Layer).#own),
          thrownBy(() => #field in layer),
        ];
      }
    }
    const objects = [{}, [], null, undefined, 1, 'text', x, () => 1, new Map(), Layer];
    return [x.mul(2), objects.map((each) => Layer.run(each)), Layer.run(new Layer())];
  },
  'chains, patterns, logical assignments and closures over the name': (x) => {
    class Layer {
      #t: Tensor | null = null;
      #n = 0;
      run(next?: Layer): Tensor {
        this.#t ??= x.mul(2);
        [this.#n = 4] = [undefined as unknown as number];
        ({ n: this.#n } = { n: this.#n + 1 });
        const read = () => this.#t!.mul(this.#n);
        return read().add(next ? next.#n : 7);
      }
    }
    const layer = new Layer();
    return [layer.run(), layer.run(layer)];
  },
  'a frozen instance whose private fields change': (x) => {
    class Layer {
      open = 1;
      #hidden = 1;
      run(): unknown[] {
        Object.freeze(this);
        this.#hidden++;
        return [x.mul(this.#hidden), Object.isFrozen(this), this.open];
      }
    }
    return new Layer().run();
  },
  'generators, and instances in arrays and Maps': (x) => {
    class Chain {
      #all: Tensor[] = [];
      push(t: Tensor): this {
        this.#all.push(t);
        return this;
      }
      *[Symbol.iterator](): Generator<Tensor> {
        yield* this.#all;
      }
      static #merge(of: Chain): Tensor {
        return [...of].reduce((a, b) => a.add(b));
      }
      static sum(all: Iterable<Chain>): Tensor {
        return [...all].map((each) => Chain.#merge(each)).reduce((a, b) => a.mul(b));
      }
    }
    const known = new Map([['a', new Chain().push(x).push(x.mul(2))]]);
    known.set('b', new Chain().push(x));
    return Chain.sum(known.values());
  },
  'a singleton in a private static field': (x) => {
    class Once {
      static #one: Once | undefined;
      t = x.mul(2);
      static get(): Once {
        this.#one ??= new Once();
        return this.#one;
      }
    }
    const [first, again] = [Once.get(), Once.get()];
    return [first === again, again.t];
  },
};

describe('private elements of a class that is made here are in the graph', () => {
  it.each(Object.entries(inGraph))('%s', (_name, fn) => expectOneGraph(world(fn)));
});

const leaving: Readonly<Record<string, (x: Tensor, log: unknown[]) => unknown>> = {
  'an instance': (x) => {
    class Kept {
      #t = x.mul(2);
      get t(): Tensor {
        return this.#t;
      }
    }
    const kept = new Kept();
    return [kept.t, kept];
  },
  'a function over a private name': (x) => {
    class Kept {
      static #k = 2;
      static reader = () => Kept.#k;
    }
    const { reader } = Kept;
    return [x.mul(reader()), reader];
  },
  'a class, over a break between its elements': (x) => {
    class Broken {
      static #sum = x.sum().itemSync();
      static #twice = Broken.#sum * 2;
      static read(): number[] {
        return [Broken.#sum, Broken.#twice];
      }
    }
    return [x.mul(2), Broken.read()];
  },
  'an instance, over a break in a private method': (x, log) => {
    class Broken {
      #calls = 0;
      #run(t: Tensor): Tensor {
        this.#calls++;
        log.push(t.sum().itemSync());
        return t.mul(this.#calls);
      }
      run(t: Tensor): Tensor {
        return this.#run(this.#run(t));
      }
    }
    return new Broken().run(x);
  },
  'a branch of the program that calls a private method': (x) => {
    class Layer {
      #by = 2;
      #run(t: Tensor): Tensor {
        this.#by++;
        return t.mul(this.#by);
      }
      run(t: Tensor): Tensor {
        return t.sum().itemSync() > 0 ? this.#run(t) : t;
      }
    }
    const layer = new Layer();
    return [layer.run(x.abs()), layer.run(x.abs().neg())];
  },
};

describe('what leaves the graph is made natively', () => {
  it.each(Object.entries(leaving))('%s', (_name, fn) => {
    for (const mode of [{}, { capture: 'auto' }] as const) {
      const log: unknown[] = [];
      const make = (): World => ({
        fn: (x: Tensor) => fn(x, log),
        args: () => [weights([3])],
        state: () => log.splice(0),
      });
      const { breaks } = expectSameAsEager(make, mode);
      if (!('capture' in mode)) expect(breaks).toBeGreaterThan(0);
    }
  });
});
