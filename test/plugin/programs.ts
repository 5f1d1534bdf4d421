/**
 * Modules that do the same with probes and without. `log` collects what happens; `run()` is called
 * once more after the module has run; every exported function is captured on both routes.
 */
export const programs: Record<string, string> = {
  'block-bodies-and-expressions': `
    let count = 0;
    export function add(a, b = 2) { count++; return a + b }
    export const twice = (x) => x * 2, object = (x) => ({ x, count }), last = () => (count++, count);
    export const curried = (a) => (b) => (c) => [a, b, c, count];
    export const run = () => [add(1), add(1, 1), twice(4), object(1), last(), curried(1)(2)(3), count];`,
  'names-and-lengths': `
    export const arrow = (a, b) => a, method = { m(a) {} }.m, made = { f: () => () => 1 };
    export default function (a, b, c) { return arguments.length }
    class Owner { field = () => 1; static named = function () {} }
    export const run = () => [arrow, method, made.f, made.f(), new Owner().field, Owner.named]
      .map((f) => [f.name, f.length]);`,
  'parameters-with-effects': `
    const log = [];
    const effect = (x) => { log.push(x); return x };
    export function defaults(a = effect('a'), { b = effect('b'), ...rest } = {}, [c = effect('c')] = []) {
      return [a, b, rest, c];
    }
    export const spread = (...[first = effect('first'), { deep = effect('deep') } = {}]) => [first, deep];
    export const run = () => [defaults(), defaults(1, { b: 2, z: 3 }, [4]), spread(), log];`,
  'computed-keys-of-parameters': `
    const log = [];
    const key = () => { log.push('key'); return 'k' };
    const pick = ({ [key()]: value }) => value;
    export const run = () => [pick({ k: 1 }), log];`,
  'hidden-names': `
    const x = 'outer';
    function hidden(a = x) { let x = 'inner'; return [a, x] }
    export function block() { { const x = 1; if (x > 2) return } return x }
    export function catches() { try { throw 1 } catch (x) { return x } finally { x } }
    export const run = () => [hidden(), block(), catches()];`,
  classes: `
    const log = [];
    class Base {
      #secret = 1;
      value = log.push('field');
      constructor(x) { log.push(x) }
      get secret() { return this.#secret }
      set secret(v) { this.#secret = v; log.push(v) }
      #hidden(by) { return this.#secret * by }
      reveal(by) { return this.#hidden(by) }
      has(o) { return #secret in o }
      static #made = 0;
      static make() { Base.#made++; return new Base('made') }
      static { log.push('static') }
      arrow = () => [this.#secret, log.length];
    }
    class Child extends Base {
      constructor() { const early = () => this; log.push('before'); super('child'); this.early = early() === this }
      reveal(by) { return super.reveal(by) + Child.length }
      toString() { return Child.name + super.toString.name }
    }
    class Plain { constructor() { this.x = log.length } }
    class Fields { a = 1; b = () => this.a }
    const child = new Child();
    export const reveal = Child.prototype.reveal, shown = Child.prototype.toString, make = Base.make;
    export const arrow = child.arrow, plain = Plain;
    export const getter = Object.getOwnPropertyDescriptor(Base.prototype, 'secret').get;
    export const run = () => {
      child.secret = 5;
      return [child.reveal(3), child.secret, child.has(child), child.has({}), child.arrow(), child.early,
        String(child), Base.make().value, new Plain(), new Fields().b(), log];
    };`,
  'generators-and-async': `
    const log = [];
    export function* count(to = 2) { try { for (let i = 0; i < to; i++) yield i } finally { log.push('end') } }
    export async function wait(x) { await null; log.push(x); return x }
    export const later = async (x) => await wait(x);
    export async function* stream() { yield* [1, 2]; yield log.length }
    const object = { *gen() { yield log }, async go() { return log.length }, async *both() { yield 1 } };
    export const gen = object.gen;
    export const run = async () => {
      const all = [...count(3)];
      for await (const x of stream()) all.push(x);
      return [all, await later(1), await object.go(), log];
    };`,
  'this-and-arguments': `
    export const top = () => this;
    export function outer() { return [() => this, () => arguments.length, () => new.target] }
    export const object = { plain() { return this === object }, get me() { return (() => this)() } };
    export const run = () => {
      const [self, count, target] = outer.call('me', 1, 2);
      return [top(), self(), count(), target(), object.plain(), object.me === object];
    };`,
  'scopes-and-loops': `
    export const made = [];
    for (let i = 0; i < 3; i++) made.push(() => i++);
    for (var v of [1, 2]) made.push(() => v);
    for (const k in { a: 1 }) made.push(() => k);
    export const first = made[0], second = made[1], third = made[3], fourth = made[5];
    export const run = () => made.map((f) => f());`,
  'hoisted-before-the-module': `
    export const early = hoisted();
    var late = 2;
    export function hoisted() { return typeof late }
    export const run = () => [early, hoisted()];`,
  'writes-and-shadowing': `
    let a = 1, $ = 2, counter = 0, pattern;
    export function assign() { a = $; $ += 1; counter++; [pattern] = [a]; ({ p: counter = 9 } = {}); return pattern }
    export const nested = () => () => { a ||= 3; return a };
    export function self() { return self.name }
    export const expression = function inner(n) { return n > 0 ? inner(n - 1) : typeof inner };
    export const run = () => [assign(), assign(), nested()(), self(), expression(2), a, $, counter];`,
  'strings-and-unusual-text': `
    const text = \`a\${(() => 'b')()}c\\u2028 </script> $&\`;
    export const quoted = () => '"\\\\' + text + /[/"]\\/(?=x)/.source;
    export const run = () => [quoted(), String.raw\`\\n\${(() => 1)()}\`];`,
  'use-strict-without-semicolon': `
    'use client'
    export function strict() {
      'use strict'
      return this === undefined
    }
    export const run = () => strict();`,
};
