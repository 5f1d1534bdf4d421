import { madeState } from './made-state-forms.ts';
import type { UserProgram } from './programs.ts';

/** The names that a world takes from the test. */
export const worldNames = ['lib', 'values', 'weights'] as const;

/** Text of a function body: `new Function(...worldNames, text)` makes the function that makes worlds. */
export function worldText({ body, isAsync, varies }: UserProgram): string {
  return `'use strict';
  const { cat, stack, where, noGrad, enableGrad, isGradEnabled, zeros, rand, randn, dropout, grad, tensor, parameter, nn, optim } = { ...lib, ...lib.nn };
  const { utils } = nn;
  return () => {
  lib.seed(5);
  class Fault extends Error {
    constructor(message, { t = null, ...options } = {}) { super(message, options); this.t = t; }
    get name() { return 'Fault'; }
  }
  class Box {
    #value; static #reads = 0; reads = 0;
    constructor(value) { this.#value = value; }
    get value() { this.reads = ++Box.#reads; return this.#value; }
    set value(next) { this.#value = next; }
  }
  class Model extends nn.Module {
    layer = new nn.Linear(3, 3); drop = new nn.Dropout(0.4); calls = 0;
    forward(t) { this.calls++; const h = this.layer.forward(t); return this.training ? this.drop.forward(h) : h.mul(this.calls); }
  }
  class Roster extends Array {
    label = 'roster';
    total() { return this.reduce((sum, t) => sum.add(t), zeros([2, 3])); }
  }
  class Index extends Map {
    writes = 0;
    set(key, t) { this.writes = (this.writes ?? 0) + 1; return super.set(key.toLowerCase(), t); }
    get size() { return super.size + 100; }
  }
  let n0 = 1, call = -1, counter = () => 2;
  const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), buffer = values([2, 3], 3), average = values([2, 3], 8);
  const obj = { a: 1, t: values([2, 3], 4), list: [values([2, 3], 5), w1], deep: { b: 2 }, maybe: null, run(t) { return t.mul(this.a); } };
  const log = [], later = [], layers = [], history = [values([2, 3], 6)];
  const kept = new Map([['a', values([2, 3], 10)], ['b', w1]]), bag = new Set([1, 2]);
  const cache = new Map(), tags = new WeakMap(), numbers = new Float64Array([1, 2, 3]);
  const roster = Roster.of(values([2, 3], 12), w1), index = new Index([['A', values([2, 3], 13)], ['B', w1]]);
  const frozen = Object.freeze({ t: values([2, 3], 11), n: 2, list: Object.freeze([1]) });
  const count = { n: 0, all: [] }, box = new Box(w0), model = new Model();
  const pipeline = [(t) => t.mul(2), model.forward.bind(model), Math.abs ? (t) => t.add(n0) : null];
  const optimizer = new optim.SGD([{ parameters: [w0, w1], momentum: 0.9 }, { parameters: model.parameters(), lr: 0.02 }], { lr: 0.1 });
  const note = Reflect.apply.bind(null, (value) => (log.push(value), value), null);
  const noted = (value) => (log.push(value), value);
  const scaled = (t, by = n0, all) => t.mul(by).add(all ? all.length : 0);
  const tag = (strings, ...holes) => { log.push(strings.raw.join('|'), Object.isFrozen(strings)); return holes[0].mul(holes.length).add(strings.length); };
  function* walk({ t, kids = [] }, depth = 0) { yield t.mul(depth + 1); for (const kid of kids) yield* walk(kid, depth + 1); }
  const soon = (value) => Promise.resolve(value).then((each) => each);
  const nothing2 = async (throws) => { if (throws) throw new Fault('nothing'); return null; };
  const fails = async (value) => { throw new Fault('rejected ' + value); };
  const nested = async (t, by) => { const h = t.mul(2); await null; return h.add(await soon(by)); };
  async function* steps(t, by) { try { yield t; await null; yield t.mul(by); yield soon(t.add(1)); } finally { log.push('closed'); } }
  class Layer2 { #calls = 0; scale = 2; async run(t) { this.#calls++; const h = t.mul(this.scale); await soon(0); this.scale++; return h.add(this.#calls); } }
  const layer = new Layer2();
  const fn = ${isAsync ? 'async ' : ''}(x, y, k, flag, items) => {
    let t0 = x, t1 = y, m0 = k;
    call++;${madeState}
    ${body}
  };
  const steady = values([2, 3], 7);
  const other = (call) => [
    () => values([2, 3], 20), () => values([3, 2], 21).t(), () => values([2, 3], 22).to('float64'),
    () => values([2, 6], 23).narrow(1, 2, 3), () => values([1, 3], 24).expand([2, 3]),
  ][call]();
  return {
    fn,
    args: (call) => {
      const x = ${varies ? 'other(call)' : 'values([2, 3], call + 20)'};
      const y = call === 1 ? x : call === 2 ? w0 : steady;
      return [x, y, [1, 1, 2, 3, 1][call], call !== 2, [x, steady, w1].slice(call === 3 ? 1 : 0)];
    },
    state: () => [n0, w0, w1, buffer, average, obj, log, history, kept, bag, roster, index, cache, numbers, count, box, model, frozen, call, steady, layers, later.length, optimizer],
  };
  };`;
}
