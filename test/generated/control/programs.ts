/**
 * Small functions whose decisions depend on tensors, made from a seed: branches, loops, jumps and exceptions
 * inside one another, with state in variables, objects, closures and collections.
 */

import { outermost, result, Statements } from './statements.ts';
import { Choices, type Node, print } from './tree.ts';

/** Functions that the text takes from around it. */
export const outerNames = ['stack', 'rand', 'dropout', 'noGrad', 'Table', 'Steps', 'Tags'] as const;

/** A class of Maps with a method and a field of its own. */
export class Table extends Map<unknown, unknown> {
  writes = 0;
  override set(key: unknown, value: unknown): this {
    this.writes++;
    return super.set(key, value);
  }
}

/** A class of arrays that counts. */
export class Steps<T> extends Array<T> {
  pushes = 0;
  override push(...items: T[]): number {
    this.pushes++;
    return super.push(...items);
  }
}

/** A class of Sets with a getter. */
export class Tags extends Set<unknown> {
  get isLong(): boolean {
    return this.size > 1;
  }
}

/**
 * The whole function: of a tensor of two elements, one that is written in place, one of three rows, and a
 * weight that is trained inside.
 */
export function functionText(nodes: readonly Node[]): string {
  return `(x, buffer, rows, w) => {
  let a = x, b = x.mul(0.6), n = 0, m = 1, maybe = null, mode = 'p';
  const box = { h: x, k: 1 };
  const other = { h: x.mul(1.7), k: 2 };
  let held = box;
  const list = ${nodes.length > 3 ? 'Steps.of(x)' : '[x]'};
  const map = new ${nodes.length % 2 === 0 ? 'Map' : 'Table'}();
  const seen = new ${nodes.length % 3 === 0 ? 'Tags' : 'Set'}();
  let f = (y) => y.mul(0.6);
  const cell = {
    h: x.sub(0.3),
    count: 0,
    step(by) { this.count++; this.h = this.h.mul(0.9).add(by); return this.h; },
  };
  const bump = (by) => { m += by; a = a.mul(0.9); };
  const deeper = (t, d) => d > 2 || t.sum().itemSync() > 1.5 ? t.mul(0.9) : deeper(t.add(0.6), d + 1);
  const train = (t) => {
    const loss = w.mul(t.detach()).tanh().sum();
    loss.backward();
    noGrad(() => { w.sub_(w.grad.mul(0.1)); });
  };
${print(nodes)}
  return ${result('a')};
}`;
}

/** Seeds from 100,000 on make what they made before runs called for numbers. */
export function programFrom(seed: number): readonly Node[] {
  const choices = new Choices(seed);
  const statements = new Statements(choices, seed < 100_000);
  return Array.from({ length: 2 + choices.below(3) }, () => statements.statement(outermost));
}
