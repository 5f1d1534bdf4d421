/* biome-ignore-all lint: what is tested is odd code */
/** Literals, conversions, generators and classes, in captured code. */

import { gradEnabled, type Tensor, tensor } from '../../../../src/index.ts';
import { type Cases, caught, Point, Stack } from '../world.ts';

const inheriting: Record<string, unknown> = Object.assign(
  Object.create(Object.create({ c: 3, a: 4 }, { b: { value: 1, enumerable: true } })),
  { a: 1, z: 2 },
);

declare const notDeclared: unknown;

class Plain {
  #v = 1;
  static #made = 0;
  #w: number;
  constructor(w: number) {
    this.#w = w;
    Plain.#made++;
  }
  #sum() {
    return this.#v + this.#w;
  }
  get #acc() {
    return this.#v * 2;
  }
  set #acc(v: number) {
    this.#v = v;
  }
  static #twice(n: number) {
    return n * 2;
  }
  total(x: Tensor) {
    this.#acc = 5;
    return x.mul(this.#sum() + this.#acc + Plain.#twice(1));
  }
  has(o: object) {
    return #v in o;
  }
}
class Derived extends Plain {
  #z = 3;
  constructor() {
    super(4);
  }
  all(x: Tensor) {
    return this.total(x).add(this.#z);
  }
}

export const language: Cases = {
  spreadFalse: (_x, w) => ({ a: 1, ...(w.flag && { b: 2 }) }),
  spreadNumber: (_x, w) => ({ a: 1, ...(w.n as unknown as object), ...('' as unknown as object) }),
  spreadString: (_x, w) => ({ ...(w.text as unknown as object) }),
  spreadEmptyString: (_x, w) => [...w.empty, ...''],
  spreadCallString: (_x, w) =>
    Math.max(...(w.empty as never as number[]), ...('12' as never as number[])),
  callSpreadEmpty: (_x, w) => ((...all: unknown[]) => all.length)(...w.empty),
  stringsForOf: (_x, w) => {
    const r: string[] = [];
    for (const c of w.text) r.push(c);
    return r;
  },
  destructureString: (_x, w) => {
    const [a, b, ...rest] = w.text;
    return [a, b, rest];
  },
  templateShape: (x) => `${x.shape}`,
  concatShape: (x) => 'shape ' + x.shape,
  templateArray: (_x, w) => `${w.numbers} ${w.nested}`,
  templateObject: (_x, w) => `${w.object}`,
  stringOfArray: (_x, w) => String(w.numbers) + w.words.toString(),
  iteratorLiteral: (x) => {
    const it = {
      *[Symbol.iterator]() {
        yield x.mul(2);
        yield x.mul(3);
      },
    };
    let s = x;
    for (const y of it) s = s.add(y);
    return [s, [...it].length];
  },
  iteratorPlain: (x) => {
    let i = 0;
    const it = {
      [Symbol.iterator]() {
        return {
          next: () =>
            i++ < 2 ? { value: x.mul(i), done: false } : { value: undefined, done: true },
        };
      },
    };
    let s = x;
    for (const y of it as never as Tensor[]) s = s.add(y);
    return s;
  },
  computedMethod: (x, w) => {
    const o = {
      [w.words[1]!]() {
        return x.mul(3);
      },
    };
    return [o.b!(), o.b!.name];
  },
  computedArrow: (x, w) => {
    const o = { [w.words[1]!]: () => x.mul(3) };
    return [o.b!(), o.b!.name];
  },
  symbolKey: (_x, w) => {
    const o = { [w.mark]: 1, a: 2 } as Record<symbol, number>;
    o[w.mark]! += 1;
    return [o, o[w.mark], w.mark in o];
  },
  getterLiteral: (x, w) => {
    const o = {
      get v() {
        w.log.push('v');
        return x.mul(2);
      },
    };
    return [o.v, o.v.add(1)];
  },
  setterLiteral: (x, w) => {
    const o = {
      k: 1,
      get v() {
        return this.k;
      },
      set v(n: number) {
        w.log.push(n);
        this.k = n;
      },
    };
    o.v = 4;
    o.v += w.n;
    return [o.v, x.mul(o.v), o];
  },
  getterEnumerated: (_x, w) => {
    const o = {
      get v() {
        w.log.push('v');
        return 1;
      },
      b: 2,
    };
    return [Object.keys(o), { ...o }, Object.entries(o)];
  },
  protoLiteral: (x) => {
    const base = {
      k: 3,
      m() {
        return this.k;
      },
    };
    const o = { __proto__: base } as never as typeof base;
    return [x.mul(o.k), o.m(), o];
  },
  protoNull: () => ({ __proto__: null, a: 1 }),
  superMethod: (x) => {
    const o = {
      __proto__: { m: () => x.mul(2) },
      m(): Tensor {
        return (super.m as () => Tensor)().add(1);
      },
    };
    return (o as never as { m(): Tensor }).m();
  },
  holesLiteral: () => [1, , 3, ,],
  typeofUndeclared: () => [
    typeof (globalThis as never as { zzz: unknown }).zzz,
    typeof notDeclared,
  ],
  generatorThrow: (x, w) => {
    function* g(): Generator<Tensor, number, unknown> {
      try {
        yield x;
        yield x.mul(2);
      } catch (e) {
        w.log.push(e);
        yield x.mul(3);
      }
      return 1;
    }
    const it = g();
    return [it.next(), it.throw('oops'), it.next()];
  },
  generatorThrowOut: (x) => {
    function* g() {
      yield x;
    }
    const it = g();
    it.next();
    return [caught(() => it.throw(new Error('no'))), it.next()];
  },
  generatorThrowStart: (x) => {
    function* g() {
      yield x;
    }
    const it = g();
    return [caught(() => it.throw(new Error('no'))), it.next()];
  },
  generatorReturn: (x, w) => {
    function* g() {
      try {
        yield x;
      } finally {
        w.log.push('f');
        yield x.mul(3);
      }
    }
    const it = g();
    it.next();
    return [it.return(5 as never), it.next()];
  },
  generatorSpread: (x) => {
    function* g() {
      yield* [x, x.mul(2)];
    }
    return [...g()];
  },
  generatorDelegate: (x) => {
    function* h(): Generator<Tensor, number> {
      yield x;
      return 4;
    }
    function* g(): Generator<Tensor | number> {
      const r = yield* h();
      yield r;
    }
    return [...g()];
  },
  recursionDeep: (x, w) => {
    const f = (y: Tensor, n: number): Tensor => (n === 0 ? y : f(y.add(1), n - 1));
    return f(x, 100 + w.n);
  },
  recursionSum: (_x, w) => {
    const f = (n: number): number => (n === 0 ? 0 : n + f(n - 1));
    return f(200 + w.n);
  },
  privateClass: (x) => new Plain(2).total(x),
  privateInstance: (x) => [new Plain(2), x],
  privateDerived: (x) => [new Derived().all(x), new Derived()],
  privateIn: () => {
    const p = new Plain(1);
    return [p.has(p), p.has({})];
  },
  privateMissing: () => caught(() => Plain.prototype.total.call({} as never, null as never)),
  newPoint: (x, w) => {
    const p = new Point(w.n);
    return [x.mul(p.double), p];
  },
  newStack: (x, w) => {
    const s = new Stack<number>();
    s.push(w.n, 4);
    return [x.mul(s.peek()!), s.length, s];
  },
  localClass: (x, w) => {
    class A {
      k = w.n;
      m() {
        return x.mul(this.k);
      }
    }
    return new A().m();
  },
  localClassPrivate: (x, w) => {
    class A {
      #k = w.n;
      static of() {
        return new A();
      }
      m() {
        return x.mul(this.#k);
      }
    }
    return A.of().m();
  },
  gradEnabled: (x) => [gradEnabled(), x.mul(gradEnabled() ? 2 : 3)],
  indexPut: (x) => x.indexPut([tensor([true, false])], tensor([5])),
  objectEqPrimitive: (_x, w) => [
    w.numbers == (3 as never),
    (w.object as never) == 1,
    ([2] as never) == 2,
  ],
  addArray: (_x, w) => (w.numbers as never as string) + '!',
  arithmeticDate: () => Number(new Date(0)) + 1,
  optionalNull: (_x, w) => (w.nothing as never as { a: () => number })?.a(),
  commaVoid: (_x, w) => [void w.n, (w.n, 2)],
  labelled: (_x, w) => {
    let s = 0;
    a: for (const i of w.numbers) {
      for (const j of w.numbers) {
        if (j === 2) continue a;
        s += i;
      }
    }
    return s;
  },
  inArray: (_x, w) => [0 in w.holes, 1 in w.holes, 'length' in w.holes, 'map' in w.holes],
  deleteElement: (_x, w) => {
    const a = [1, 2, 3];
    delete a[1];
    return [a, a.length, Object.keys(a), delete (w.object as { a?: number }).a];
  },
  forInArray: (_x, w) => {
    const r: string[] = [];
    for (const i in w.numbers) r.push(i);
    return r;
  },
  forInInstance: (_x, w) => {
    const r: string[] = [];
    for (const i in w.point) r.push(i);
    return r;
  },
  forInMade: (_x, w) => {
    const above = Object.create(
      { top: 1, shadowed: 2, hidden: 3, 7: 4 },
      { middle: { value: w.n, enumerable: true, configurable: true }, secret: { value: 1 } },
    );
    const made = Object.create(above, {
      own: { value: w.n, enumerable: true, writable: true, configurable: true },
      shadowed: { value: 5, enumerable: true, configurable: true },
      hidden: { value: 6 },
    });
    const r: unknown[] = [];
    for (const key in made) {
      r.push(key, made[key]);
      if (key === 'own') {
        delete made.shadowed;
        delete above.middle;
      }
    }
    for (const key in Object.create(null, { only: { value: 1, enumerable: true } })) r.push(key);
    for (const key in new Point(w.n)) r.push(key);
    for (const key in Object.create(w.object)) r.push(key);
    return r;
  },
  forInInherited: (x, w) => {
    const r: unknown[] = [];
    for (const key in inheriting) {
      r.push(key, inheriting[key]);
      if (key === 'a') inheriting.late = w.n;
    }
    const before = inheriting.late;
    delete inheriting.late;
    return [r, before, x.mul(r.length)];
  },
  forInString: (_x, w) => {
    const r: string[] = [];
    for (const i in w.text as never as object) r.push(i);
    return r;
  },
  destructureHole: (_x, w) => {
    const [a, b = 7, c] = w.holes;
    return [a, b, c];
  },
  spreadHoles: (_x, w) => [...w.holes],
  writePastEnd: (_x, w) => {
    const a = [1];
    a[3] = 2;
    w.numbers[6] = 1;
    return a;
  },
  arrayProps: () => {
    const a = [1] as number[] & { tag?: string };
    a.tag = 'q';
    return a;
  },
  functionProps: () => {
    const f = (() => 1) as (() => number) & { k?: number };
    f.k = 2;
    return [f.k, f.name, f.length];
  },
  bigint: (_x, w) => [
    BigInt(w.n) + 2n,
    BigInt.asUintN(8, 257n),
    5n.toString(),
    typeof 3n,
    (-4n) ** 3n,
  ],
  dateTime: () => new Date(0).getTime(),
  newRegExp: (_x, w) => new RegExp('[a-c]+', 'g').exec(w.text),
  symbolFor: (_x, w) => [
    Symbol.for('mark') === w.mark,
    w.mark.description,
    Symbol.keyFor(w.mark),
    String(w.mark),
    caught(() => `${w.mark as never}`),
  ],
  newSymbol: () => {
    const s = Symbol('q');
    const o = { [s]: 1 };
    return [o[s], s.toString()];
  },
  taggedRaw: (_x, w) => String.raw`a\n${w.n}`,
};
