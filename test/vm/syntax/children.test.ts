import type { AnyNode } from 'acorn';
import { describe, expect, it } from 'vitest';
import { childrenOf, statementsIn } from '../../../src/vm/syntax/children.ts';
import { parse } from '../../../src/vm/syntax/parse.ts';

const module = `
import a, { b as c } from 'd' with { type: 'json' };
import * as e from 'f';
const g = 1;
export { g as h };
export * as i from 'j';
export default class extends k { static #l = 1; m = 2; get [n]() { return #l in this && super.n; } static { var o; } }
export const [p, , ...q] = [1, , ...r], { s, [t]: u = v, ...w } = {};
label: for (let x = 0, y; x < 1; x++) { if (x) continue label; else break; }
for (var z in {}) for (const aa of []) ;
do { debugger; } while (0);
while (1) { try { throw 1; } catch ({ bb }) { } finally { } try { } catch { } }
switch (cc) { case 1: var dd; default: }
async function* ee(ff = 1) { yield* gg; await hh; for await (const ii of jj) return; }
const kk = (ll) => ll?.mm[nn]?.(oo) ?? \`a\${pp}b\`, qq = rr\`c\`, ss = /t/u, uu = 1n;
vv = (ww, xx ? -yy : zz++), new ab(...ac), import('x', {}), import.meta;
({ ad, ae() {}, get af() {}, set ag(ah) {}, [ai]: null, __proto__: aj });
`;

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

const program = parse(module, { ecmaVersion: 'latest', sourceType: 'module' });
const sloppy = parse('with (a) { b; } function f() { new.target; }', { ecmaVersion: 'latest' });

describe('the children of a node', () => {
  it.each([program, sloppy])('are all nodes that its fields hold', (root) => {
    const seen = new Set<string>();
    const visit = (node: AnyNode): void => {
      seen.add(node.type);
      const found = Object.values(node).flat().filter(isNode);
      expect(new Set(childrenOf(node)), node.type).toEqual(new Set(found));
      for (const child of childrenOf(node)) visit(child);
    };
    visit(root);
    expect(seen.size).toBeGreaterThan(root === program ? 60 : 5);
  });

  it('come in the order of the text', () => {
    const visit = (node: AnyNode): void => {
      // What stands in one place twice: `{ a }` is its key and its value.
      const starts = childrenOf(node).map(({ start }) => start);
      if (node.type !== 'TemplateLiteral') {
        expect(starts, node.type).toEqual(starts.toSorted((a, b) => a - b));
      }
      childrenOf(node).forEach(visit);
    };
    visit(program);
  });

  it('that are statements hold every var outside functions and classes', () => {
    const vars: string[] = [];
    const visit = (node: AnyNode): void => {
      if (node.type === 'VariableDeclaration' && node.kind === 'var') {
        for (const { id } of node.declarations) if (id.type === 'Identifier') vars.push(id.name);
      }
      statementsIn(node).forEach(visit);
    };
    program.body.forEach(visit);
    expect(vars).toEqual(['z', 'dd']);
  });
});
