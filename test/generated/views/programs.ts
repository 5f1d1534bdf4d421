// biome-ignore-all lint/suspicious/noTemplateCurlyInString: programs are source text
/**
 * Functions over views: taken before, inside and after branches, loops and graph breaks, written through, kept in the
 * user's objects, and given overlapping arguments. `.grad` of leaves is written and replaced by views.
 */

import fc from 'fast-check';
import { inTheWay } from '../gradient-programs.ts';

export interface ViewProgram {
  readonly body: string;
  /** What the first matrix is: a result, one with a gradient, or the argument itself. */
  readonly start: 'x.mul(2)' | 'x.mul(w0)' | 'x';
  /** How the arguments and what is kept share memory. */
  readonly sharing: number;
}

interface Parts {
  /** Of shape [2, 3], [3] and []. */
  matrix: string;
  row: string;
  element: string;
  number: string;
  statement: string;
  block: string;
}

const text = (strings: TemplateStringsArray, ...holes: readonly fc.Arbitrary<string>[]) =>
  fc.tuple(...holes).map((values) => String.raw({ raw: strings }, ...values));

const of = fc.constantFrom;
const size = { depthSize: 'small', withCrossShrink: true } as const;

const { statement } = fc.letrec<Parts>((tie) => {
  const part = (key: keyof Parts) => tie(key) as fc.Arbitrary<string>;
  const [m, v, e, n] = [part('matrix'), part('row'), part('element'), part('number')];
  const [s, b] = [part('statement'), part('block')];
  const [ml, vl] = [of('m0', 'm1'), of('v0', 'v1')];
  const op = of('add', 'mul', 'sub');
  const write = of('add_', 'mul_', 'sub_', 'copy_');
  const index = of('0', '1', 'k & 1', 'at');
  return {
    matrix: fc.oneof(
      size,
      ml,
      ml,
      of('x', 'y', 'buffer', 'obj.m', 'held[0]', 'w0'),
      text`${m}.${op}(${m})`,
      text`${m}.${of('t().t()', 'detach()', 'clone()', 'tanh()', 'reshape([3, 2]).t()')}`,
      text`${m}.reshape([6]).${of('reshape([2, 3])', 'unfold(0, 3, 3)')}`,
      text`${m}.reshape([1, 2, 3]).squeeze(0)`,
      text`${v}.expand([2, 3])`,
      text`stack([${v}, ${v}])`,
      text`cat([${m}, ${m}]).narrow(0, 1, 2)`,
      text`big.narrow(0, ${of('0', '1', '2', 'k & 1')}, 2)`,
      text`noGrad(() => ${m})`,
      text`(${n} > 0 ? ${m} : ${m})`,
      text`native(${m})`,
      text`(obj.m = ${m})`,
    ),
    row: fc.oneof(
      size,
      vl,
      vl,
      of('kept.row', 'kept.other', 'flat.narrow(0, 2, 3)'),
      text`${m}.select(0, ${index})`,
      text`${m}.reshape([6]).narrow(0, ${of('0', '1', '2', '3')}, 3)`,
      text`${m}.reshape([6]).slice(0, ${of('0', '1')}, 6, 2)`,
      text`${m}.t().select(1, 0)`,
      text`${m}.unbind(0)[${of('0', '1')}]`,
      text`${v}.${op}(${v})`,
      text`${v}.flip([0])`,
      text`${m}.sum(0)`,
      text`(kept.row = ${v})`,
    ),
    element: fc.oneof(
      size,
      text`${v}.select(0, ${of('0', '1', '2', 'at')})`,
      text`${m}.sum()`,
      text`${v}.mean()`,
    ),
    number: fc.oneof(
      size,
      of('k', '1', '-0.5', 'n0', 'at'),
      text`${e}.itemSync()`,
      text`${v}.amax().itemSync()`,
      text`(${n} - ${n})`,
    ),
    block: fc.array(s, { minLength: 1, maxLength: 3 }).map((list) => `{ ${list.join(' ')} }`),
    statement: fc.oneof(
      size,
      text`${ml} = ${m};`,
      text`${ml} = ${m}.mul(1);`,
      text`${vl} = ${v};`,
      text`${m}.${write}(${m});`,
      text`${v}.${write}(${v});`,
      text`${m}.select(0, ${index}).${write}(${v});`,
      text`${m}.t().${write}(${m}.t());`,
      text`${v}.${of('fill_', 'add_')}(${n});`,
      text`${e}.mul_(2);`,
      text`noGrad(() => { ${s} });`,
      text`n0 = ${n};`,
      text`log.push(${n});`,
      text`note([1]);`,
      text`held.push(${m}); if (held.length > 3) held.shift();`,
      text`held[0] = ${m};`,
      text`kept.other = ${v};`,
      text`if (${n} > ${n}) ${b}`,
      text`if (${n} > ${n}) ${b} else ${b}`,
      text`for (let at = 0; at < 2 && ${n} > ${n}; at++) ${b}`,
      text`for (const each of ${m}.unbind(0)) { v0 = each; ${s} }`,
      text`for (const each of held) { m1 = each; ${s} }`,
      of('[m0, m1] = [m1, m0];', '[v0, v1] = [v1, v0];'),
      text`{ const f = () => { ${s} }; f(); note([2]); f(); }`,
      text`try { ${s} if (${n} > 0) throw new RangeError('positive'); ${s} } catch (error) { log.push(nameOf(error)); ${s} }`,
      text`w0.grad = ${of('null', 'm0.detach()', 'obj.m.detach()')};`,
      text`if (w0.grad) { w0.grad.select(0, 0).${write}(${v}.detach()); obj.m = w0.grad; }`,
      text`${m}.mul(w0).add(${v}).sum().backward(null, { retainGraph: ${of('true', 'false')} });`,
      text`w1.requiresGrad_(${of('true', 'false', 'k > 1')});`,
      text`${ml} = ${m}.detach().requiresGrad_();`,
      text`if (m0.requiresGrad && !m0.isLeaf) { v1 = m0.select(0, 0); if (v1.requiresGrad) v1.registerHook((g) => { log.push('hook'); return g.mul(2); }); }`,
      text`if (v0.requiresGrad && !v0.isLeaf) v0.retainGrad();`,
    ),
  };
});

const result = of(
  'm0',
  '[m0, v0]',
  '[m0, m1, v0, v1]',
  '{ m0, v: v1, k: obj.m }',
  '[m0.select(0, 0), m0.t()]',
  '[x, m0.narrow(1, 1, 2), v0.expand([2, 3])]',
  'undefined',
);

export const viewPrograms: fc.Arbitrary<ViewProgram> = fc
  .tuple(
    fc.array(statement, { minLength: 2, maxLength: 7 }),
    result,
    of('x.mul(2)', 'x.mul(w0)', 'x'),
    fc.nat(5),
  )
  .map(([lines, end, start, sharing]) => ({
    body: [...lines, `return ${end};`].join('\n    '),
    start: start as ViewProgram['start'],
    sharing,
  }));

/** The names that a world takes from the test. */
export const worldNames = ['lib', 'values', 'weights'] as const;

/** Text of a function body: `new Function(...worldNames, text)` makes the function that makes worlds. */
export function worldText({ body, start, sharing }: ViewProgram): string {
  return `'use strict';
  const { noGrad, stack, cat } = lib;
  const nameOf = (error) =>
    error.message.includes('memory that several tensors show') ? '${inTheWay}' : error.constructor.name;
  return () => {
  const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), log = [];
  const buffer = values([2, 3], 3), flat = buffer.reshape([6]), big = values([4, 3], 4);
  const obj = { m: ${sharing & 1 ? 'buffer' : 'values([2, 3], 5)'} };
  const kept = { row: buffer.select(0, 1), other: big.select(0, 2) };
  const held = [values([2, 3], 6), ${sharing & 2 ? 'big.narrow(0, 1, 2)' : 'w1'}];
  let n0 = 0, at = 1;
  const note = Reflect.apply.bind(null, (value) => { log.push(value); }, null);
  const native = Reflect.apply.bind(null, (t) => (log.push('native'), t), null);
  const fn = (x, y, k) => {
    let m0 = ${start}, m1 = y, v0 = m0.select(0, 0), v1 = y.select(0, 1);
    ${body}
  };
  const steady = values([2, 3], 7);
  return {
    fn,
    args: (call) => {
      const rows = values([4, 3], call + 20);
      const x = rows.narrow(0, 0, 2);
      const others = [rows.narrow(0, 2, 2), x, rows.narrow(0, 1, 2), steady];
      return [x, others[(${sharing} + ${sharing > 2 ? 'call' : 0}) % 4], [1, 1, 2, 3][call]];
    },
    state: () => [w0, w1, buffer, flat, big, obj, kept, held, log, n0, steady],
  };
  };`;
}
