/** Classes of the user's that extend arrays, Maps, Sets and weak collections: instances from before, and made inside. */

import { describe, expect, it } from 'vitest';
import { type Tensor, toStatic } from '../../../src/index.ts';
import { expectOneGraph } from '../language/every-mode.ts';
import { values, type World, weights } from '../same-as-eager.ts';
import { describeValues } from '../snapshot.ts';

class Layers extends Array<Tensor> {
  name = 'layers';
  get last(): Tensor {
    return this[this.length - 1]!;
  }
  total(): Tensor {
    return this.reduce((sum, each) => sum.add(each));
  }
}

/** Its constructor decides what `map` and `slice` make. */
class Scaled extends Array<number> {
  readonly calls: number[];
  constructor(...args: number[]) {
    super(...args);
    this.calls = [args.length, ...args];
  }
}

class Plain extends Array<number> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

class Reversed extends Array<number> {
  override *[Symbol.iterator](): ArrayIterator<number> {
    for (let i = this.length - 1; i >= 0; i--) yield this[i]!;
  }
}

class Registry extends Map<string, Tensor> {
  writes = 0;
  override set(key: string, value: Tensor): this {
    this.writes++;
    return super.set(key.toLowerCase(), value);
  }
  override get size(): number {
    return super.size * 10;
  }
  sum(): Tensor {
    let sum: Tensor | undefined;
    for (const value of this.values()) sum = sum ? sum.add(value) : value;
    return sum!;
  }
}

class Bag extends Set<number> {
  constructor(items: Iterable<number> = []) {
    super(items);
  }
  override add(item: number): this {
    return super.add(item + 1);
  }
  override *[Symbol.iterator](): SetIterator<number> {
    for (const each of super.values()) yield each * 2;
  }
}

class Notes extends WeakMap<object, number> {
  bump(key: object): number {
    this.set(key, (this.get(key) ?? 0) + 1);
    return this.get(key)!;
  }
}

interface Before {
  readonly layers: Layers;
  readonly scaled: Scaled;
  readonly registry: Registry;
  readonly bag: Bag;
  readonly notes: Notes;
  readonly key: object;
}

function before(): Before {
  const layers = new Layers();
  layers.push(values([3], 1), weights([3], 2));
  const registry = new Registry();
  registry.set('A', values([3], 3)).set('B', values([3], 4));
  const key = {};
  const scaled = new Scaled(4, 5, 6);
  return { layers, scaled, registry, bag: new Bag([1, 2]), notes: new Notes(), key };
}

type Step = (x: Tensor, b: Before) => unknown;

/** The calls after the second one meet other content. */
const world = (fn: Step) => (): World => {
  const b = before();
  const { notes, key, ...seen } = b;
  return {
    fn: (x: Tensor) => fn(x.mul(2), b),
    args: (call) => {
      if (call === 2) {
        b.layers.push(values([3], 7));
        b.registry.set('late', values([3], 8));
        b.bag.add(9);
        b.scaled[1] = 8;
      }
      return [weights([3], call)];
    },
    state: () => [seen, notes.get(key)],
  };
};

const cases: Readonly<Record<string, Step>> = {
  'an array is read': (x, { layers }) => [layers.total().add(x), layers.last.mul(x), layers.name],
  'an array is changed': (x, { layers }) => {
    layers.push(x);
    const first = layers.shift()!;
    layers[0] = layers[0]!.add(first);
    layers.name = 'changed';
    return [layers.length, layers.total()];
  },
  'methods make others by the constructor': (x, { scaled }) => {
    const more = scaled.map((n) => n * 2);
    const fewer = scaled.filter((n) => n > 4);
    return [
      x,
      more,
      fewer,
      scaled.slice(1),
      scaled.slice(-2, -1),
      scaled.concat([1], more),
      (more as Scaled).calls,
    ];
  },
  'splice takes out what its constructor made': (x, { scaled }) => {
    const taken = scaled.splice(1, 1, 7, 8);
    scaled.splice(0, 1);
    return [x, taken, scaled.flatMap((n) => [n, n]), new Scaled(1, 2).flat()];
  },
  'of and from': (x) => {
    const pairs = Layers.from([1, 2], (n) => x.mul(n)) as Layers;
    return [
      (Layers.of(x, x.add(1)) as Layers).total(),
      pairs.total(),
      Scaled.from({ length: 2, 0: 5, 1: 6 }),
    ];
  },
  'new, fields, methods and accessors': (x) => {
    const made = new Layers();
    made.push(x, x.mul(3));
    made.name += ' inside';
    return [
      made,
      made.last,
      made.total(),
      made instanceof Layers,
      Array.isArray(made),
      made.length,
    ];
  },
  'spread, names and iteration': (x) => {
    const made = new Reversed();
    made.push(1, 2, 3);
    const visited: number[] = [];
    for (const each of made) visited.push(each);
    return [x, [...made], visited, Object.keys(new Layers()), JSON.stringify(made)];
  },
  'another species': (x) => {
    const made = Plain.of(1, 2, 3);
    return [x, made.map((n) => n + 1), made.slice(1) instanceof Plain, made];
  },
  'a Map is read': (x, { registry }) => [
    x.add(registry.get('a')!),
    registry.sum(),
    registry.has('A'),
    registry.size,
    registry.writes,
    [...registry.keys()],
  ],
  'a Map is changed': (x, { registry }) => {
    registry.set('New', x.mul(3));
    registry.delete('a');
    const names: string[] = [];
    registry.forEach((_, name) => {
      names.push(name);
    });
    return [registry.sum(), names, registry.size];
  },
  'a Map is made': (x) => {
    const made = new Registry([['P', x]]);
    made.set('Q', x.mul(2));
    return [
      made,
      made.sum(),
      made.writes,
      made.size,
      made instanceof Map,
      made instanceof Registry,
    ];
  },
  'a Set is read, changed and made': (x, { bag }) => {
    bag.add(20);
    bag.delete(2);
    const made = new Bag([1, 5]);
    return [x.mul([...bag].length), [...bag], [...made], made, bag.has(21), made.size];
  },
  'weak ones': (x, { notes, key }) => {
    const own = new Notes();
    const other = {};
    own.bump(other);
    return [x.mul(own.bump(other)), notes.bump(key), own.has(key)];
  },
  'of a class that is defined inside': (x) => {
    class Sums extends Map<string, Tensor> {
      total = x;
      override set(key: string, value: Tensor): this {
        this.total = this.total.add(value);
        return super.set(key, value);
      }
    }
    class Pair extends Array<Tensor> {
      get both(): Tensor {
        return this[0]!.mul(this[1]!);
      }
    }
    const [sums, pair] = [new Sums(), Pair.of(x, x.add(1)) as Pair];
    sums.set('a', x.mul(2));
    return [sums.total, sums.size, pair.both, pair instanceof Pair, sums instanceof Map];
  },
  'across others of one object': (x, { registry }) => {
    const made = new Layers();
    const holder = { made, again: made, registry };
    made.push(x.mul(4));
    return holder;
  },
};

describe('in the graph', () => {
  it.each(Object.entries(cases))('%s', (_name, fn) => expectOneGraph(world(fn), 4));
});

describe('in branches and loops of the program', () => {
  const decided: Readonly<Record<string, Step>> = {
    'a field and an entry': (x) => {
      const made = new Registry();
      made.set('a', x);
      const layers = new Layers();
      layers.push(x);
      if (x.sum().itemSync() > 0) {
        made.set('a', x.mul(2));
        layers[0] = x.add(1);
      } else made.set('a', x.neg());
      return [made.sum(), layers, made];
    },
    'made on both paths': (x) => {
      const made =
        x.sum().itemSync() > 0 ? new Registry([['a', x]]) : new Registry([['a', x.neg()]]);
      const isBig = x.max().itemSync() > 0.5;
      const list = (isBig ? Layers.of(x) : Layers.of(x.mul(3))) as Layers;
      return [made.sum(), list.total(), list];
    },
    'carried by a loop': (x) => {
      const made = new Layers();
      made.push(x);
      while (made.total().abs().sum().itemSync() < 20) made[0] = made[0]!.mul(2);
      return made;
    },
  };
  it.each(Object.entries(decided))('%s', (_name, fn) => {
    for (const options of [{ fullGraph: true }, { capture: 'auto' }] as const) {
      const make = world(fn);
      const [eager, captured] = [make(), make()];
      const step = toStatic(captured.fn, { strict: true, check: 2, ...options });
      for (let call = 0; call < 4; call++) {
        const expected = describeValues([eager.fn(...eager.args!(call))]);
        expect(describeValues([step(...captured.args!(call))])).toEqual(expected);
      }
      expect(step.stats().graphs).toBe(1);
    }
  });
});

it('guards notice an instance of another class', () => {
  const sum = toStatic(
    (x: Tensor, map: Map<string, Tensor>) => x.add(map.get('a')!).mul(map.size),
    {
      fullGraph: true,
    },
  );
  const x = values([2]);
  const entries = [['a', values([2], 1)]] as const;
  const maps = [new Map(entries), new Registry(entries), new Map(entries)];
  for (const map of [...maps, ...maps]) {
    const expected = x.add(map.get('a')!).mul(map.size);
    expect(sum(x, map).tolist()).toEqual(expected.tolist());
  }
});
