/**
 * Functions that differentiate under control flow, made from a seed: custom functions, checkpoints, derivatives of
 * functions, calls with other parameters and parametrizations in branches and loops, with hooks, writes in place and
 * exceptions. All tensors have the shape [2, 3].
 */

import { around, type Choices, line, type Node, print } from '../control/tree.ts';

const locals = ['t0', 't1', 't2', 'box.h'] as const;
const leaves = ['w0', 'w1', 'x', 'y', 'shared.w', 'model.weight'] as const;
const writes = ['add_', 'mul_', 'sub_', 'copy_'] as const;
const views = ['select(0, 1)', 'select(0, 0)', 'narrow(1, 1, 2)', 'narrow(0, 0, 1)'] as const;

/** What the function returns. */
export const results = [
  't0',
  '[t0, t1, t2]',
  '[t0.sum(), t1.detach()]',
  '{ t0, h: box.h, g: w0.grad }',
  '[t0, t0.select(0, 1), t1.mul(2)]',
] as const;

export class Statements {
  readonly #choices: Choices;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  block(depth = 0): Node[] {
    return Array.from({ length: 1 + this.#choices.below(3) }, () => this.statement(depth));
  }

  statement(depth: number): Node {
    const { one, below } = this.#bound();
    const all = [this.#assignment, this.#assignment, this.#gradient, this.#effect];
    const compound = [this.#compound, this.#compound];
    return one(depth < 3 && below(3) > 0 ? [...all, ...compound] : all).call(this, depth);
  }

  #assignment(): Node {
    const { one } = this.#bound();
    const [any, own] = [one(locals), one(locals.slice(0, 3))];
    const [write, view, t] = [one(writes), one(views), () => this.#tensor()];
    return line(
      one<() => string>([
        () => `${any} = ${t()};`,
        () => `${any} = ${t()};`,
        () => `${own} = (${t()}).mul(1); ${own}.${write}(${t()});`,
        () => `${own}.${write}(${t()});`,
        () => `${own} = ${own}.mul(2); ${own}.${view}.${write}((${t()}).${view});`,
        () => `${any} = (${t()}).detach().requiresGrad_();`,
        () => `noGrad(() => { ${one(['w0', 'shared.w', own])}.${write}(${t()}); });`,
      ])(),
    );
  }

  #gradient(): Node {
    const { one } = this.#bound();
    const [w, flag] = [one(['w0', 'w1', 'shared.w', 't0']), () => one(['true', 'false', 'flag'])];
    const [own, loss] = [one(locals.slice(0, 3)), () => this.#loss()];
    return line(
      one<() => string>([
        () =>
          `if (${w}.requiresGrad) ${own} = grad(${loss()}, [${w}], { createGraph: ${flag()}, allowUnused: true })[0] ?? ${own};`,
        () => `${loss()}.backward({ retainGraph: ${flag()}, createGraph: ${flag()} });`,
        () => `${loss()}.backward();`,
        () => `if (${own}.requiresGrad && !${own}.isLeaf) ${own}.retainGrad();`,
        () => {
          const hook = one(['g.mul(2)', 'void log.push("hook")', '{ if (k > 1) return g.neg(); }']);
          return `if (${own}.requiresGrad && !${own}.isLeaf) ${own}.registerHook((g) => ${hook});`;
        },
      ])(),
    );
  }

  #effect(): Node {
    const { one } = this.#bound();
    return line(
      one([
        `log.push(t0.requiresGrad, t1.isLeaf, t2.grad === null, ${this.#condition()});`,
        'w0.grad = null;',
        'w0.grad?.zero_();',
        'if (w0.grad) w1.grad = w0.grad.mul(0.5);',
        'w1.requiresGrad_(flag);',
        'y.requiresGrad_();',
        `held.push(${this.#tensor()});`,
        'if (held.length > 2) held.shift();',
        `if (${this.#condition()}) throw new TypeError('own');`,
        `if (${this.#condition()}) return [t0, box.h];`,
        'shared.w = w1;',
        'model.weight = w1;',
        'n++;',
      ]),
    );
  }

  #compound(depth: number): Node {
    const { one, below } = this.#bound();
    const block = () => this.block(depth + 1);
    const i = this.#choices.name('i');
    return one<() => Node>([
      () => around(`if (${this.#condition()})`, [block()]),
      () => around(`if (${this.#condition()})`, [block(), block()]),
      () => around(`for (let ${i} = 0; ${i} < ${1 + below(3)}; ${i}++)`, [block()]),
      () => ({
        ...around(`let ${i} = 0; while (${this.#condition()})`, [block()]),
        open: `let ${i} = 0; while (${this.#condition()}) { if (++${i} > 3) break;\n`,
      }),
      () => around('for (const each of [...held])', [[line('t1 = each.mul(t1);'), ...block()]]),
      () => around('try', [block()], { close: '} catch (error) { log.push(nameOf(error)); }' }),
      () => around('try', [block(), block()], { between: '} finally {' }),
    ])();
  }

  #condition(): string {
    const { one } = this.#bound();
    const t = one(locals);
    return one([
      `${t}.sum().itemSync() > 0`,
      `${t}.mean().itemSync() < 0.2`,
      `${t}.requiresGrad`,
      ...['flag', 'k > 1', 'w0.grad === null', 'held.length > 1', 'n % 2 === 0'],
    ]);
  }

  #loss(): string {
    const { one } = this.#bound();
    return `${this.#tensor(1)}.mul(${one(['w0', 'w1', 't0', 'shared.w'])}).sin().sum()`;
  }

  #tensor(depth = 0): string {
    const { one, below } = this.#bound();
    if (depth > 2 || below(4) === 0) return one([...locals, ...locals, ...leaves]);
    const t = () => this.#tensor(depth + 1);
    const leaf = one(leaves);
    return one<() => string>([
      () => `${t()}.${one(['add', 'sub', 'mul'])}(${t()})`,
      () => `${t()}.${one(['add', 'sub', 'mul'])}(${t()})`,
      () => `${t()}.${one(['tanh', 'sigmoid', 'sin', 'detach', 'clone', 'abs'])}()`,
      () => `square(${t()}, 0.5)`,
      () => `scaled(${t()}, ${t()})`,
      () => `checkpoint((a) => a.mul(${one(['w1', 'x', 'y'])}).tanh(), ${t()})`,
      () => `checkpoint((a) => a.sum().itemSync() > 0 ? a.mul(w1).tanh() : a.sin(), ${t()})`,
      () => `checkpoint((a, b) => dropout(a, 0.5).mul(b).tanh(), ${t()}, ${t()})`,
      () => `noGrad(() => ${t()})`,
      () => `nn.functionalCall(model, { weight: ${t()} }, [${t()}])`,
      () => `${one(['model', 'computed'])}.forward(${t()})`,
      () => `jvp((a) => a.mul(${leaf}).tanh(), ${t()}, y, { createGraph: true })[1]`,
      () => `hvp((a) => a.mul(${leaf}).tanh().sum(), x, y, { createGraph: true })[1]`,
      () =>
        `vjp((a) => a.mul(${leaf}).sin(), ${t()}, y, { createGraph: ${one([true, false])} })[1]`,
      () => `vmap((a) => a.mul(${one(['2', 'a'])}).tanh())(${t()})`,
      () => `(${this.#condition()} ? ${t()} : ${t()})`,
      () => `(held.at(-1) ?? ${t()}).mul(0.5)`,
      () => `(${leaf}.grad ?? ${t()}).mul(0.5)`,
    ])();
  }

  #bound() {
    const choices = this.#choices;
    return {
      one: <T>(all: readonly T[]): T => choices.one(all),
      below: (limit: number): number => choices.below(limit),
    };
  }
}

/** Text of a function body, of `lib`, `values` and `weights`: it returns a function that makes worlds. */
export const worldText = (nodes: readonly Node[], result: string): string => `'use strict';
  const { noGrad, grad, checkpoint, customFunction, nn, jvp, hvp, vjp, vmap, dropout } = lib;
  const nameOf = (error) => error.constructor.name + ': ' + error.message.split('\\n')[0];
  class Scaling extends nn.Module {
    constructor(salt) { super(); this.weight = weights([2, 3], salt); }
    forward(a) { return a.mul(this.weight).tanh(); }
  }
  class Halved extends nn.Module { forward(w) { return w.mul(0.5).tanh(); } }
  return () => {
  const w0 = weights([2, 3], 1), w1 = weights([2, 3], 2), log = [], held = [];
  const shared = { w: weights([2, 3], 3) }, model = new Scaling(4), computed = new Scaling(5);
  nn.utils.registerParametrization(computed, 'weight', new Halved());
  let n = 0;
  const square = customFunction({
    name: 'square',
    forward: (ctx, t, by) => { ctx.saveForBackward(t); ctx.by = by; return t.mul(t).mul(by); },
    backward: (ctx, g) => [ctx.savedTensors[0].mul(g).mul(2 * ctx.by), null],
  });
  const scaled = customFunction({
    name: 'scaled',
    forward: (ctx, a, b) => { const r = a.mul(b); ctx.saveForBackward(a, r, b); return r; },
    backward: (ctx, g) => { const [a, r, b] = ctx.savedTensors; return [g.mul(b), g.mul(a).add(r.mul(0))]; },
  });
  const fn = (x, y, k, flag) => {
    let t0 = x.mul(w0), t1 = y.add(1), t2 = w0.tanh();
    const box = { h: x.add(0.1) };
    ${print(nodes)}
    return ${result};
  };
  return { fn, w0, w1, shared, model, held, log, state: () => [w0, w1, shared, model, computed, log, held, n] };
  };`;
