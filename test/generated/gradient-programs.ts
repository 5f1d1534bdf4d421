import fc from 'fast-check';

/**
 * Functions that differentiate, as text: gradients of any order, writes in place, views, leaves made inside,
 * hooks, custom functions and checkpoints. All tensors have the shape [2, 3].
 */
export interface GradientProgram {
  readonly body: string;
}

const local = fc.constantFrom('t0', 't1', 't2');
const leaf = fc.constantFrom('w0', 'w1', 'x', 'y');
const view = fc.constantFrom('select(0, 1)', 'select(0, 0)', 'narrow(1, 1, 2)', 'narrow(0, 0, 1)');
const write = fc.constantFrom('add_', 'mul_', 'sub_', 'copy_');
const flag = fc.boolean();

interface Parts {
  tensor: string;
  statement: string;
  block: string;
}

const { tensor, statement } = fc.letrec<Parts>((tie) => {
  const t = tie('tensor') as fc.Arbitrary<string>;
  const b = tie('block') as fc.Arbitrary<string>;
  const loss = fc
    .tuple(t, fc.constantFrom('w0', 'w1', 't0'))
    .map(([e, w]) => `${e}.mul(${w}).add(w1).sum()`);
  return {
    tensor: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      local,
      leaf,
      fc.tuple(t, fc.constantFrom('add', 'sub', 'mul'), t).map(([x, op, y]) => `${x}.${op}(${y})`),
      fc
        .tuple(t, fc.constantFrom('tanh', 'sigmoid', 'exp', 'relu', 'detach', 'clone', 'square'))
        .map(([x, op]) => (op === 'square' ? `square(${x}, 0.5)` : `${x}.${op}()`)),
      t.map((x) => `checkpoint((a) => a.mul(w1).tanh(), ${x})`),
      t.map((x) => `noGrad(() => ${x})`),
    ),
    block: fc
      .array(tie('statement') as fc.Arbitrary<string>, { minLength: 1, maxLength: 3 })
      .map((list) => `{ ${list.join(' ')} }`),
    statement: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.tuple(local, t).map(([x, e]) => `${x} = ${e};`),
      fc
        .tuple(local, t, write, t)
        .map(([x, e, op, v]) => `${x} = (${e}).mul(1); ${x}.${op}(${v});`),
      fc.tuple(local, write, t).map(([x, op, v]) => `${x}.${op}(${v});`),
      fc.tuple(local, view, write, t).map(([x, part, op, v]) => {
        return `${x} = ${x}.mul(2); ${x}.${part}.${op}((${v}).${part});`;
      }),
      fc.tuple(local, t).map(([x, v]) => `noGrad(() => { ${x}.add_(${v}); });`),
      fc.tuple(local, t).map(([x, e]) => `${x} = (${e}).detach().requiresGrad_();`),
      fc.tuple(local, loss, leaf, flag).map(([x, l, w, createGraph]) => {
        return `if (${w}.requiresGrad) ${x} = grad(${l}, [${w}], { createGraph: ${createGraph}, allowUnused: true })[0] ?? ${x};`;
      }),
      fc.tuple(loss, flag, flag).map(([l, retainGraph, createGraph]) => {
        return `${l}.backward(null, { retainGraph: ${retainGraph}, createGraph: ${createGraph} });`;
      }),
      loss.map((l) => `${l}.backward();`),
      local.map((x) => `if (${x}.requiresGrad && !${x}.isLeaf) ${x}.retainGrad();`),
      local.map(
        (x) => `if (${x}.requiresGrad && !${x}.isLeaf) ${x}.registerHook((g) => g.mul(2));`,
      ),
      local.map((x) => `log.push(${x}.requiresGrad, ${x}.isLeaf, ${x}.grad === null);`),
      fc.constantFrom(
        'w0.grad = null;',
        'note(["here"]);',
        'y.requiresGrad_();',
        'w1.requiresGrad_(false);',
        'w1.requiresGrad_(true);',
      ),
      fc.tuple(fc.constantFrom('flag', '!flag', 'k > 1'), b).map(([c, s]) => `if (${c}) ${s}`),
      b.map((s) => `for (let i = 0; i < 2; i++) ${s}`),
      fc.tuple(b).map(([s]) => `try ${s} catch (error) { log.push(nameOf(error)); }`),
    ),
  };
});

const result = fc.constantFrom(
  't0',
  '[t0, t1, t2]',
  '[t0.sum(), t1.detach()]',
  '{ t0, grad: w0.grad }',
);

export const gradientPrograms: fc.Arbitrary<GradientProgram> = fc
  .tuple(fc.array(statement, { minLength: 2, maxLength: 7 }), tensor, result)
  .map(([lines, t, end]) => ({
    body: [...lines, `t0 = ${t};`, `return ${end};`].join('\n    '),
  }));

/** What programs log of an error that depends on which handles were collected. */
export const inTheWay = 'handles in the way';

/** The names that a world takes from the test. */
export const worldNames = ['lib', 'values', 'weights'] as const;

/** Text of a function body: `new Function(...worldNames, text)` makes the function that makes worlds. */
export function worldText({ body }: GradientProgram): string {
  return `'use strict';
  const { noGrad, grad, checkpoint, customFunction } = lib;
  const nameOf = (error) =>
    error.message.includes('memory that several tensors show') ? '${inTheWay}' : error.constructor.name;
  return () => {
  const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), log = [];
  const note = Reflect.apply.bind(null, (...args) => log.push(...args), null);
  const square = customFunction({
    name: 'square',
    forward: (ctx, t, by) => { ctx.saveForBackward(t); ctx.by = by; return t.mul(t).mul(by); },
    backward: (ctx, g) => [ctx.savedTensors[0].mul(g).mul(2 * ctx.by), null],
  });
  const fn = (x, y, k, flag) => {
    let t0 = x.mul(w0), t1 = y.add(1), t2 = w0.tanh();
    ${body}
  };
  return {
    fn,
    args: (call) => {
      const x = values([2, 3], call + 20);
      const y = values([2, 3], 7);
      return [x, y, [1, 2, 1][call], call !== 1];
    },
    state: () => [w0, w1, log],
  };
  };`;
}
