import type { AnyNode, Class, PropertyDefinition } from 'acorn';
import { analyzeBody, analyzeFunction } from './analyze-function.ts';
import type { LexicalScope } from './bindings.ts';
import type { Walk } from './walk.ts';

/**
 * Analyzes a class. Its inner name, its private names and its computed field keys are variables of the enclosing
 * function; the keys are evaluated once and used whenever a field is created.
 */
export function analyzeClass(walk: Walk, node: Class, around: LexicalScope): void {
  const { builder } = walk;
  const { owner } = around;
  const outer = builder.openScope(node, owner, around, true);
  if (node.id) {
    // Neither the methods nor the name can be used before the class exists.
    builder.selfNames.set(node as AnyNode, builder.declare(outer, 'const', node.id.name, node.end));
  }
  walk.visit(node.superClass, outer);
  const scope = builder.openScope(node.body, owner, outer);
  for (const element of node.body.body) {
    if (element.type === 'StaticBlock' || element.key.type !== 'PrivateIdentifier') continue;
    const name = `#${element.key.name}`;
    if (!scope.bindings.has(name)) builder.declare(scope, 'private', name, 0);
    builder.usePrivate(element.key, scope);
  }
  const fields = builder.openFunction(node.body, scope, node.end, true);
  const inFields = builder.openScope(fieldScopeKey(node), fields, scope);
  let hasConstructor = false;
  for (const element of node.body.body) {
    switch (element.type) {
      case 'StaticBlock': {
        const block = builder.openFunction(element, scope, node.end, true);
        analyzeBody(walk, element.body, builder.openScope(element, block, scope));
        break;
      }
      case 'MethodDefinition': {
        if (element.computed) walk.visit(element.key, scope);
        const isConstructor = element.kind === 'constructor';
        if (isConstructor) hasConstructor = true;
        const derived = isConstructor && node.superClass !== null && node.superClass !== undefined;
        analyzeFunction(walk, element.value, scope, { callableFrom: node.end, derived });
        if (element.key.type === 'PrivateIdentifier' && !element.static) {
          builder.usePrivate(element.key, inFields);
        }
        break;
      }
      case 'PropertyDefinition':
        analyzeField(walk, element, scope, inFields, node.end);
    }
  }
  if (!hasConstructor) builder.openFunction(node, scope, node.end, true);
}

/** Analyzes the parts of a pre-existing class that run when an instance is created. All outer names remain free. */
export function analyzeConstruction(walk: Walk, node: Class): void {
  const { builder } = walk;
  const fields = builder.openFunction(node.body, undefined, node.end, true);
  const inFields = builder.openScope(fieldScopeKey(node), fields, undefined, true);
  let hasConstructor = false;
  for (const element of node.body.body) {
    if (element.type === 'PropertyDefinition' && !element.static) {
      walk.visit(element.value, inFields);
    } else if (element.type === 'MethodDefinition' && element.kind === 'constructor') {
      hasConstructor = true;
      const derived = node.superClass !== null && node.superClass !== undefined;
      analyzeFunction(walk, element.value, undefined, { callableFrom: node.end, derived });
    }
  }
  if (!hasConstructor) builder.openFunction(node, undefined, node.end, true);
}

function analyzeField(
  { builder, visit }: Walk,
  node: PropertyDefinition,
  scope: LexicalScope,
  inFields: LexicalScope,
  end: number,
): void {
  let used = inFields;
  if (node.static) {
    used = builder.openScope(node, builder.openFunction(node, scope, end, true), scope);
  }
  if (node.computed) {
    visit(node.key, scope);
    const key = builder.declare(scope, 'key', `[field ${node.start}]`, 0);
    builder.note(key, scope.owner, node.start, true);
    builder.note(key, used.owner, node.start, false);
    builder.fieldKeys.set(node, key);
  }
  if (node.key.type === 'PrivateIdentifier') builder.usePrivate(node.key, used);
  visit(node.value, used);
}

/** The scope of the field initializer has no node of its own. */
const fieldScopeKey = ({ body }: Class) => ({
  type: 'ClassBody',
  start: body.start,
  end: body.end,
});
