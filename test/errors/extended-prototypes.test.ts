/** Properties that a page puts on the prototypes of all objects and arrays change nothing. */

import { afterEach, describe, expect, it } from 'vitest';
import {
  crossEntropy,
  nn,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

const prototypes = {
  Object: Object.prototype,
  Array: Array.prototype,
  Function: Function.prototype,
};
// Not `value` or `get`: with these, no object is a property descriptor any more.
const names = ['accepts', 'name', 'dim', 'last', 'kind', 'extension'];
const cases = Object.keys(prototypes).flatMap((type) => names.map((name) => [type, name] as const));

afterEach(() => {
  for (const [type, name] of cases) {
    if (type !== 'Function' || name !== 'name')
      Reflect.deleteProperty(prototypes[type as 'Object'], name);
  }
});

function trained(options: object | null): unknown {
  seed(1);
  const model = new nn.Sequential(new nn.Linear(3, 4), new nn.LayerNorm(4), new nn.Dropout(0.5));
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
  const step = (x: Tensor, y: Tensor) => {
    const parts = [model.forward(x), x.sum([1], true)].map((each) => each.mul(2));
    const loss = crossEntropy(parts[0]!, y, { reduction: 'sum' }).add(parts[1]!.mean());
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const call = options ? toStatic(step, options) : step;
  const losses = [1, 2].map(() => call(randn([2, 3]), tensor([0, 1], { dtype: 'int32' })));
  return losses.map((loss) => loss.itemSync());
}

describe.each([null, {}, { fullGraph: true }, { capture: 'auto' }] as const)('%o', (options) => {
  it.each(cases)('%s.prototype has a property %s', (type, name) => {
    const expected = trained(null);
    if (type === 'Function' && name === 'name') return;
    Object.assign(prototypes[type as 'Object'], { [name]: 1 });
    expect(trained(options)).toEqual(expected);
  });
});

/** A function with much syntax, of its own for each call, so that each is parsed and lowered again. */
const freshProgram = (tag: string): ((x: Tensor, o: object) => unknown) =>
  new Function(`return (x, o) => { // ${tag}
    let y = x;
    const log = [];
    for (const [k, v] of Object.entries(o)) { if (k === 'a') { y = y.mul(v); } else y = y.add(v); }
    class A { static s = 2; get q() { return 1; } m(t, ...rest) { return t.add(this.q + rest.length + A.s); } }
    const arrow = ({ a, b = 3, ...more }) => a + b + Object.keys(more).length;
    try { log.push(\`\${arrow(o)}\`); if (o.a === 2) throw new Error('e'); } catch (e) { log.push(e.message); } finally { log.push('f'); }
    l: for (let i = 0; i < 3; i++) { switch (i) { case 1: continue l; default: y = y.add(i); } if (i ** 2 > 3) break l; }
    function* g() { yield 1; yield* [2, 3]; }
    for (const each of g()) y = y.mul(each);
    const n = o?.c?.d ?? 4;
    do { y = y.sub(n); } while (false);
    const key = 'computed';
    const literal = { [key]: 1, get twice() { return 2; }, async later() {}, m() { return super.toString === {}.toString; } };
    literal[key] += literal.twice;
    return [new A().m(y, 1, 2), log, typeof o, literal[key], literal.m(), [...'ab'], /b/.test('abc')];
  }`)();

/** The fields of syntax trees, and of what lowering makes of them. */
const syntaxNames =
  'alternate argument async await base bigint block body callee cases classNode close computed consequent declarations delegate derived discriminant elements end exported expression expressions finalizer generator handler home homeObject id init key left local method nameFrom next object operator optional params parent prefix privateName prologue properties property quasis raw receiver regex register right shorthand specifiers start static superClass tag tail test update'.split(
    ' ',
  );

describe('the syntax tree of a function that is captured', () => {
  const outcome = (fn: (x: Tensor, o: object) => unknown): unknown => {
    const results = fn(tensor([1, 2]), { a: 2, b: 1 }) as [Tensor, ...unknown[]];
    return [results[0].toArraySync(), ...results.slice(1)];
  };
  it.each(syntaxNames)('has no %s from Object.prototype', (name) => {
    const captured = toStatic(freshProgram(name));
    const expected = outcome(freshProgram(`${name}, eagerly`));
    const value = () => 1;
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
    try {
      expect(outcome(captured)).toEqual(expected);
    } finally {
      Reflect.deleteProperty(Object.prototype, name);
    }
    expect(captured.stats()).toMatchObject({ graphs: 1, breaks: [], fallbacks: [] });
  });
});
