import { sameAsNative } from './differential.ts';

sameAsNative('classes', {
  'methods, accessors and statics': `
    class A { m(a, b) { return this.x + a + b; } get x() { return 1; } set x(v) { log('set', v); } static s() { return this.name; } }
    const a = new A(); a.x = 5;
    return [a.m(2, 3), A.s(), A.length, Object.getOwnPropertyNames(A), Object.getOwnPropertyNames(A.prototype), Object.keys(A.prototype)];`,
  'evaluation order of keys, heritage and static elements': `
    const key = (k) => (log('key', k), k);
    const parent = () => (log('parent'), class { constructor() { log('parent made'); } });
    class A extends parent() {
      [key('a')]() {} static [key('b')] = log('b is set'); [key('c')] = log('c is set'); static { log('block', this === A); } static [key('d')]() {}
    }
    new A(); return Object.getOwnPropertyNames(A);`,
  'the own name is constant inside and free outside': `
    let A = class B { static f() { try { B = 1; } catch (e) { log(e); } return B; } };
    const f = A.f; const was = A; A = null; return f() === was;`,
  'a class before its declaration':
    'try { new A(); } catch (e) { log(e); } class A {} return new A() instanceof A;',
  'heritage sees the name uninitialised': 'try { class A extends A {} } catch (e) { log(e); }',
  'names of anonymous classes': `
    const a = class {}; const { b = class {} } = {}; const o = { c: class {}, ['d' + 1]: class {}, e: class { static name = 'own'; } };
    let f; f = class {}; return [a.name, b.name, o.c.name, o.d1.name, o.e.name, f.name, (class {}).name, (0, class {}).name];`,
  'super calls and fields': `
    class A { x = log('A.x', 1); constructor(v) { log('A', v, new.target.name); } }
    class B extends A { y = log('B.y', this.x + 1); constructor() { log('before'); const r = super(7); log(r === this); this.z = this.y; } }
    return new B();`,
  'a default constructor hands everything on': `
    class A { constructor(...xs) { this.xs = xs; } } class B extends A { f = this.xs.length; } return new B(1, 2, 3);`,
  'this before super': 'class A extends Object { constructor() { this.x = 1; super(); } } new A();',
  'super twice': `
    class P { constructor() { log('P'); } } class A extends P { constructor() { super(); try { super(); } catch (e) { log(e); } } } return new A();`,
  'super in an arrow, an eval of arguments and a finally': `
    class P { constructor(x) { this.x = x; } }
    class A extends P { constructor(c) { const make = () => super(log('arg', 3)); try { if (c) make(); } finally { log('finally'); } } }
    log(new A(true)); new A(false);`,
  'what a derived constructor returns': `
    const o = { o: 1 };
    class A extends Object { constructor(v) { super(); return v; } }
    class B extends Object { constructor(v) { return v; } }
    log(new A(o), new A(undefined), new B(o));
    for (const f of [() => new A(1), () => new B(undefined), () => new B(null)]) try { f(); } catch (e) { log(e); }`,
  'what a base constructor returns':
    'class A { constructor(v) { this.a = 1; return v; } } return [new A(5), new A({ b: 2 })];',
  'a class that is called':
    'class A {} try { A(); } catch (e) { log(e.constructor === TypeError); } try { A.call({}); } catch (e) { log(e.name); }',
  'extends null': `
    class A extends null { static s() { return 1; } m() {} }
    log(Object.getPrototypeOf(A.prototype), Object.getPrototypeOf(A) === Function.prototype, A.s());
    try { new A(); } catch (e) { log(e.name); }`,
  'extends what is no constructor':
    'for (const P of [1, undefined, () => {}, { prototype: 1 }]) try { class A extends P {} } catch (e) { log(e.name); }',
  'reads of the parent':
    'class A extends watch("P", class P { constructor() { log("made"); } }) {} return new A() instanceof A;',
  'extends built-ins': `
    class L extends Array { last() { return this[this.length - 1]; } } const l = L.from([1, 2, 3]); log(l.last(), l instanceof L, l.length, Array.isArray(l));
    class E extends Error { constructor(m) { super(m); this.name = 'E'; } } try { throw new E('x'); } catch (e) { log(e instanceof E, e.message, String(e)); }
    class M extends Map { get(k) { return super.get(k) ?? 'none'; } } const m = new M([[1, 2]]); return [m.get(1), m.get(2)];`,
  'new.target through Reflect.construct': `
    class A { constructor() { log(new.target === B); } } class B {} function F() { log(new.target === B); return () => new.target; }
    const a = Reflect.construct(A, [], B); return [a instanceof B, Reflect.construct(F, [], B).call() === undefined];`,
  'super properties': `
    class A { get x() { return log('get', this.n); } set x(v) { log('set', v, this.n); } m() { return 'A.m'; } static s() { return 'A.s ' + this.t; } }
    class B extends A { n = 1; static t = 2; m() { return [super.m(), (() => super.m())(), super['m'](), super.x, super.nothing]; } w() { super.x = 5; super.y = 6; super.x += 1; super.x++; return delete this.y; } static s() { return super.s(); } }
    return [new B().m(), new B().w(), B.s()];`,
  'super in object literals': `
    const base = { m() { return 'base ' + this.x; } };
    const o = { __proto__: base, x: 1, m() { return super.m() + '!'; }, get g() { return super.m; }, a: { m() { return typeof super.m; } } };
    Object.setPrototypeOf(o, { m() { return 'other ' + this.x; } }); return [o.m(), o.g.name, o.a.m()];`,
  'order of a super reference': `
    class A { } class B extends A { m() { try { super[log('key', 'k')] = log('value', 1); } catch (e) { log(e); } return this.k; } } return new B().m();`,
  'delete super': 'class A { m() { try { delete super.x; } catch (e) { log(e); } } } new A().m();',
  'fields are defined, not assigned': `
    class A { set x(v) { log('setter'); } } class B extends A { x = 1; ['y'] = this; static z; 'q r' = 2; 3 = 4; f = () => this; g = function () {}; }
    const b = new B(); return [Object.keys(b), b.f() === b, b.y === b, b.g.name, b.f.name, Object.getOwnPropertyDescriptor(B, 'z')];`,
  'a var of a static block belongs to the block': `
    class A { static { var v = 1; } } try { return v; } catch (e) { log(e); }`,
  'static blocks': `
    let seen; class A { static a = 1; static { var v = this.a; let w = v + 1; seen = [v, w, typeof this]; this.b = w; } static c = this.b + 1; }
    return [seen, A.b, A.c, typeof v];`,
  'a class in a loop is another one each time': `
    const made = []; for (let i = 0; i < 2; i++) made.push(class { v() { return i; } static is(o) { return #b in o; } #b; });
    const [A, B] = made; return [new A().v(), new B().v(), A.is(new A()), A.is(new B())];`,
});

sameAsNative('private names', {
  'fields, methods, accessors, statics': `
    class A {
      #f = 1; #m(x) { return this.#f + x; } get #g() { return this.#f; } set #g(v) { this.#f = v; } static #s = 5; static #sm() { return this.#s; }
      run(o) { this.#g = 3; this.#f++; this.#g += 2; return [o.#f, o.#m(1), o.#g, A.#sm(), this.#f ??= 9, (this.#f &&= 4), this?.#f, o?.#m(2)]; }
    }
    const a = new A(); return a.run(a);`,
  'brand checks': `
    class A { #f = 1; #m() {} static f(o) { return o.#f; } static m(o) { return o.#m(); } static w(o) { o.#f = 1; } static has(o) { return #f in o; } }
    for (const o of [{}, 1, null, new Proxy(new A(), {}), Object.freeze(new A())]) for (const n of ['f', 'm', 'w', 'has']) try { log(n, A[n](o)); } catch (e) { log(n, e.name); }`,
  'read-only members': `
    class A { #m() {} get #g() { return 1; } set #s(v) {} a() { this.#m = 1; } b() { this.#g = 1; } c() { return this.#s; } }
    for (const n of 'abc') try { new A()[n](); } catch (e) { log(e); }`,
  'twice on one object': `
    class Same { constructor(o) { return o; } } class A extends Same { #x = 1; static x(o) { return o.#x; } }
    const o = {}; new A(o); log(A.x(o)); try { new A(o); } catch (e) { log(e); }`,
  'nested classes and shadowing': `
    class A { #x = 'outer'; m() { const self = this; return class { #x = 'inner'; y = [this.#x]; static o = self.#o; }; } get #o() { return this.#x; } n() { return class { z(o) { return o.#x; } }; } }
    const a = new A(); return [new (a.m())().y, a.m().o, new (a.n())().z(a)];`,
  'destructured into private names':
    'class A { #a; #b; m() { [this.#a, this.#b = 5] = [1]; ({ x: this.#a } = { x: 7 }); return [this.#a, this.#b]; } } return new A().m();',
  'names of private functions':
    'class A { #m() {} get #g() { return 1; } static n() { const a = new A(); return [a.#m.name, (a.#f).name]; } #f = () => {}; } return A.n();',
  'a field that is not there yet':
    'class A { a = this.m(); #x = 1; m() { try { return this.#x; } catch (e) { return log(e); } } } return new A().a;',
});
