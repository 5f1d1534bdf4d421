import type { AnyNode, Identifier, Pattern } from 'acorn';
import type { ScriptLexical } from '../../vm/realm/realm.ts';
import { statementsIn } from '../../vm/syntax/children.ts';
import { isFunctionNode, spanOf } from '../syntax/nodes.ts';
import type { Range } from './bindings.ts';

/** A name that a pattern binds, and the text in which it can't be initialized yet. */
export interface BoundName {
  readonly identifier: Identifier;
  /** Text after the name that runs before the name gets its value: defaults, and the value itself. */
  readonly except: readonly Range[];
}

export function boundNames(pattern: Pattern, except: readonly Range[] = []): BoundName[] {
  switch (pattern.type) {
    case 'Identifier':
      return [{ identifier: pattern, except }];
    case 'AssignmentPattern':
      return boundNames(pattern.left, [...except, spanOf(pattern.right)]);
    case 'RestElement':
      return boundNames(pattern.argument, except);
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? boundNames(element, except) : []));
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        boundNames(property.type === 'RestElement' ? property.argument : property.value, except),
      );
    case 'MemberExpression':
      return [];
  }
}

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
    const names = node.declarations.flatMap(({ id }) => boundNames(id));
    return names.map(({ identifier }) => ({ kind, name: identifier.name }));
  });
}
