import fc from 'fast-check';

/**
 * Functions over tensors and host values, as text. All tensors have the shape [2, 3] or broadcast to it, so that
 * most programs run to their end; numbers come from everywhere a guard may stand before.
 */
export interface TensorProgram {
  readonly body: string;
}

interface Parts {
  tensor: string;
  number: string;
  condition: string;
  statement: string;
  block: string;
}

const local = fc.constantFrom('t0', 't1');
const outerTensor = fc.constantFrom('x', 'y', 'w0', 'w1', 'obj.t', 'last', 'box.seen');

const tensorLeaves = [
  local,
  outerTensor,
  fc.constantFrom('items[0]', 'items[items.length - 1]', 'obj.list[0]', 'obj.list.at(-1)'),
  fc.constantFrom('arr[0]', 'arr[1]', 'rec.t', 'zeros([2, 3])', 'randn([2, 3])'),
];
const numberLeaves = [
  fc.integer({ min: -2, max: 3 }).map(String),
  fc.constantFrom('k', 'm0', 'n0', 'n1', 'obj.a', 'obj.deep.b', 'box.count', 'rec.n'),
  fc.constantFrom('items.length', 'obj.list.length', 'x.shape[1]', 'x.numel', 'arr.length'),
  fc.constantFrom('counter.next()', 'counter.peek()', 'n0++', '++n1', 'obj.a++', 'm0--'),
  fc.constantFrom('obj.maybe?.length', 'obj.maybe ?? 2', 'box.twice'),
];
const conditionLeaves = [
  fc.constantFrom('flag', '!flag', 'x === y', 'obj.maybe', 'last === null', 'items.includes(x)'),
  fc.constantFrom('"a" in obj', 'typeof last === "object"', 'Array.isArray(items)', 'm0'),
];

const { tensor, number, condition, statement } = fc.letrec<Parts>((tie) => {
  const t = tie('tensor') as fc.Arbitrary<string>;
  const n = tie('number') as fc.Arbitrary<string>;
  const c = tie('condition') as fc.Arbitrary<string>;
  const s = tie('statement') as fc.Arbitrary<string>;
  const b = tie('block') as fc.Arbitrary<string>;
  return {
    tensor: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      ...tensorLeaves,
      fc.tuple(t, fc.constantFrom('add', 'sub', 'mul', 'maximum'), t).map(call),
      fc.tuple(t, fc.constantFrom('add', 'mul', 'sub', 'div'), n).map(call),
      fc
        .tuple(t, fc.constantFrom('relu', 'tanh', 'neg', 'sigmoid', 'abs', 'clone', 'detach'))
        .map(([x, op]) => `${x}.${op}()`),
      t.map((x) => `${x}.sub(${x}.mean())`),
      fc.tuple(t, t).map(([x, y]) => `${x}.matmul(${y}.transpose(0, 1)).matmul(${x})`),
      fc.tuple(t, t).map(([x, y]) => `cat([${x}, ${y}], 0).narrow(0, 1, 2)`),
      fc.tuple(t, t).map(([x, y]) => `stack([${x}, ${y}]).sum(0)`),
      fc.tuple(t, t, t).map(([x, y, z]) => `where(${x}.gt(0), ${y}, ${z})`),
      fc.tuple(c, t, t).map(([x, y, z]) => `(${x} ? ${y} : ${z})`),
      fc.tuple(t, n).map(([x, y]) => `scaled(${x}, ${y})`),
      t.map((x) => `scaled(${x})`),
      t.map((x) => `box.forward(${x})`),
      t.map((x) => `twice(() => ${x})`),
      fc.tuple(t, t).map(([x, y]) => `[${x}, ${y}].reduce((a, b) => a.add(b))`),
      t.map((x) => `items.map((each) => each.mul(${x})).at(-1)`),
      fc.tuple(local, t).map(([x, y]) => `(${x} = ${y})`),
      t.map((x) => `(last = ${x})`),
      t.map((x) => `(obj.t = ${x})`),
      t.map((x) => `native(${x})`),
      t.map((x) => `noGrad(() => ${x})`),
    ),
    number: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      ...numberLeaves,
      fc.tuple(n, fc.constantFrom('+', '-', '*', '%'), n).map(infix),
      fc.tuple(n, n).map(([x, y]) => `Math.max(${x}, ${y})`),
      fc.tuple(c, n, n).map(([x, y, z]) => `(${x} ? ${y} : ${z})`),
      t.map((x) => `${x}.sum().itemSync()`),
      n.map((x) => `(log.push(${x}), ${x})`),
      n.map((x) => `note([${x}])`),
      fc
        .tuple(fc.constantFrom('n0', 'obj.a', 'm0', 'box.count'), n)
        .map(([x, y]) => `(${x} = ${y})`),
    ),
    condition: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      ...conditionLeaves,
      fc.tuple(n, fc.constantFrom('<', '===', '>='), n).map(infix),
      fc
        .tuple(c, fc.constantFrom('&&', '||', '??'), c)
        .map(([l, op, r]) => `((${l}) ${op} (${r}))`),
      t.map((x) => `(${x}.sum().itemSync() > 0)`),
      fc.tuple(t, t).map(([x, y]) => `(${x} === ${y})`),
    ),
    block: fc.array(s, { maxLength: 3 }).map((list) => `{ ${list.join(' ')} }`),
    statement: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.tuple(local, t).map(([x, y]) => `${x} = ${y};`),
      t.map((x) => `last = ${x};`),
      n.map((x) => `m0 = ${x};`),
      n.map((x) => `log.push(${x});`),
      fc.tuple(fc.constantFrom('n0', 'n1', 'obj.a', 'obj.deep.b', 'box.count'), n).map(assign),
      fc.tuple(fc.constantFrom('obj.t', 'box.seen', 'rec.t', 'obj.fresh'), t).map(assign),
      t.map((x) => `obj.list.push(${x});`),
      fc
        .tuple(fc.constantFrom('obj.list[0]', 'items[0]', 'arr[1]', 'arr[arr.length]'), t)
        .map(assign),
      fc.tuple(c, b, b).map(([x, y, z]) => `if (${x}) ${y} else ${z}`),
      fc
        .tuple(fc.integer({ min: 0, max: 3 }), b)
        .map(([n, x]) => `for (let i = 0; i < ${n}; i++) ${x}`),
      fc
        .tuple(fc.constantFrom('items', 'obj.list.slice(0, 3)', 'arr.slice()'), b)
        // The block may push to what is iterated.
        .map(([xs, x]) => {
          return `for (const each of ${xs}) { if (items.length > 6) break; t0 = t0.add(each); ${x} }`;
        }),
      fc.tuple(c, b).map(([x, y]) => `{ let left = 2; while (left-- > 0 && ${x}) ${y} }`),
      fc.tuple(b, b).map(([x, y]) => `try ${x} catch (error) { log.push(firstLine(error)); ${y} }`),
      fc.tuple(b, b).map(([x, y]) => `try ${x} finally ${y}`),
      fc.tuple(c, n).map(([x, y]) => `if (${x}) throw new Error("thrown " + ${y});`),
      fc.tuple(c, t).map(([x, y]) => `if (${x}) return ${y};`),
      fc
        .tuple(n, b, b)
        .map(([x, y, z]) => `switch (${x}) { case 1: ${y} case 2: ${z} break; default: m0++; }`),
      fc.tuple(t, t).map(([x, y]) => `{ const [a, b = a] = [${x}, ${y}]; t1 = a.mul(b); }`),
      fc
        .tuple(t, n)
        .map(([x, y]) => `{ const { t, n: m = 1 } = { t: ${x}, n: ${y} }; t0 = t.add(m); }`),
      fc.tuple(local, t).map(([x, y]) => `{ const f = () => { ${x} = ${y}; }; f(); f(); }`),
      t.map((x) => `noGrad(() => { buffer.add_(${x}.detach()); });`),
      t.map((x) => `noGrad(() => { w0.sub_(${x}.detach().mul(0.1)); });`),
      n.map((x) => `buffer.mul_(${x});`),
      // Of a graph that backward has used up nothing else hangs on: what does takes no gradient once captured.
      t.map((x) => `(${x}).detach().mul(w0).add(w1).sum().backward();`),
      fc.constantFrom(
        '{ const g = w0.grad; w0.grad = null; g?.dispose(); }',
        'items.pop();',
        'items.push(t0);',
        'obj.list = [t0, t1];',
        'note(["here"]);',
        'log.push(box.twice);',
        't1.dispose();',
        '[t0, t1] = [t1, t0];',
        'delete obj.fresh;',
        'arr = [...arr, t0];',
        'rec = { ...rec, n: m0 };',
        'saved.push(() => t0);',
        'saved.forEach((f) => { t1 = t1.add(f()); });',
      ),
    ),
  };
});

function call([receiver, op, operand]: readonly [string, string, string]): string {
  return `${receiver}.${op}(${operand})`;
}

function infix([left, op, right]: readonly [string, string, string]): string {
  return `(${left} ${op} ${right})`;
}

function assign([target, value]: readonly [string, string]): string {
  return `${target} = ${value};`;
}

/** What the function returns also decides which values live to the end. */
const result = fc.constantFrom(
  't0',
  '[t0, t1, m0]',
  '{ t0, list: [t1], m0 }',
  '[arr, rec]',
  '() => t0',
);

export const tensorPrograms: fc.Arbitrary<TensorProgram> = fc
  .tuple(fc.array(statement, { minLength: 1, maxLength: 6 }), tensor, number, condition, result)
  .map(([lines, t, n, c, end]) => ({
    body: [...lines, `t0 = ${t};`, `m0 = ${n};`, `if (${c}) m0++;`, `return ${end};`].join(
      '\n    ',
    ),
  }));

/** The names that a world takes from the test. */
export const worldNames = ['lib', 'values', 'weights'] as const;

/** Text of a function body: `new Function(...worldNames, text)` makes the function that makes worlds. */
export function worldText({ body }: TensorProgram): string {
  return String.raw`'use strict';
  const { cat, stack, where, noGrad, zeros, randn } = lib;
  return () => {
  let n0 = 1, n1 = 2, last = values([2, 3], 9);
  const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), buffer = values([2, 3], 3);
  const obj = { a: 1, t: values([2, 3], 4), list: [values([2, 3], 5), w1], deep: { b: 2 }, maybe: null };
  const log = [];
  const native = Reflect.apply.bind(null, (t) => (log.push('native'), t.mul(2)), null);
  const note = Reflect.apply.bind(null, (...args) => log.push(...args), null);
  const firstLine = (error) => error.message.split('\n')[0];
  const scaled = (t, by = n0) => t.mul(by);
  const twice = (f) => f().add(f());
  class Box {
    count = 0; seen = w1;
    forward(t) { this.count++; this.seen = t; return t.mul(w0).add(this.count); }
    get twice() { return this.count * 2; }
  }
  const box = new Box();
  const counter = (() => { let c = 0; return { next: () => ++c, peek: () => c }; })();
  const fn = (x, y, k, flag, items) => {
    let t0 = x, t1 = y, m0 = k, arr = [x, y], rec = { t: x, n: k };
    const saved = [];
    ${body}
  };
  const kept = values([2, 3], 7);
  return {
    fn,
    args: (call) => {
      const x = values([2, 3], call + 20);
      const y = call === 1 ? x : call === 2 ? w0 : kept;
      return [x, y, [1, 1, 2, 3, 1][call], call !== 2, [x, kept, w1].slice(call === 3 ? 1 : 0)];
    },
    state: () => [n0, n1, last, w0, w1, buffer, obj, log, box, counter.peek(), kept],
  };
  };`;
}
