import type { AnyNode } from 'acorn';
import type { ScriptLexical } from '../../vm/realm/realm.ts';
import { statementsIn } from '../../vm/syntax/children.ts';
import { type BoundName, boundNames, patternNames } from '../../vm/syntax/patterns.ts';
import { isFunctionNode, spanOf } from '../syntax/nodes.ts';

/** A `var` of a function body. */
interface VarName extends BoundName {
  /** True if it gets its value in a top-level statement of the body, which runs before all later text. */
  readonly topLevel: boolean;
}

/** Returns the `var`s of a function body, including nested ones. */
export function varNames(body: readonly AnyNode[]): VarName[] {
  const names: VarName[] = [];
  const visit = (node: AnyNode, topLevel: boolean): void => {
    if (isFunctionNode(node)) return;
    if (node.type === 'VariableDeclaration' && node.kind === 'var') {
      for (const { id, init } of node.declarations) {
        const except = init ? [spanOf(init)] : [];
        const initialized = topLevel && init !== null && init !== undefined;
        for (const name of boundNames(id, except)) names.push({ ...name, topLevel: initialized });
      }
    }
    for (const child of statementsIn(node)) visit(child, false);
  };
  for (const statement of body) visit(statement, true);
  return names;
}

/** Returns the names that a script declares with `let`, `const` and `class`, in initialization order. */
export function scriptLexicals(body: readonly AnyNode[]): ScriptLexical[] {
  return body.flatMap((node): ScriptLexical[] => {
    if (node.type === 'ClassDeclaration')
      return node.id ? [{ kind: 'let', name: node.id.name }] : [];
    if (node.type !== 'VariableDeclaration' || node.kind === 'var') return [];
    const kind = node.kind === 'let' ? 'let' : 'const';
    const names = node.declarations.flatMap(({ id }) => patternNames(id));
    return names.map((name) => ({ kind, name }));
  });
}
