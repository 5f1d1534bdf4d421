import type { Class } from 'acorn';
import { analyzeFunction } from './analyze-function.ts';
import { type FunctionBoundary, type FunctionFacts, LexicalScope } from './binding.ts';
import type { ClassNode } from './captured-function.ts';
import { declareLocal, type ScopeContext } from './scope-context.ts';
import type { ScriptWalk } from './script-walk.ts';

/** Analyzes a class: its inner name, its members, and the outer names that its fields use. */
export function analyzeClass(walk: ScriptWalk, node: ClassNode, context: ScopeContext): void {
  const { functions, classes, visit } = walk;
  const scope = new LexicalScope('class', context.scope);
  if (node.id) declareLocal(scope, node.id.name, 'self', context, node);
  // Private names are in scope in the body alone: those in `extends` are of classes around it.
  visit(node.superClass, { ...context, scope, strict: true });
  const body = new LexicalScope('class', scope);
  body.privateNames = new Set(declaredPrivateNames(node));
  const inner: ScopeContext = { ...context, scope: body, strict: true };
  const boundary: FunctionBoundary = {
    node,
    free: new Map(),
    written: new Set(),
    kind: 'constructor',
    strict: true,
  };
  classes.set(node, boundary);
  const fields: ScopeContext = {
    ...inner,
    scope: new LexicalScope('function', body, boundary),
    ownThis: true,
    inLoop: false,
  };
  for (const member of node.body.body) analyzeMember(walk, member, node, inner, fields);
  const explicit = functions.findLast((facts) => facts.classNode === node);
  if (explicit) addNamesOfFields(walk, explicit);
}

/** Adds the names of a class's fields to the facts of its constructor, which initializes them in its scope. */
export function addNamesOfFields(
  { classes }: Pick<ScriptWalk, 'classes'>,
  facts: FunctionFacts,
): void {
  const node = facts.classNode!;
  const { free, written } = classes.get(node)!;
  for (const [name, binding] of free) facts.free.set(name, binding);
  for (const name of written) facts.written.add(name);
  for (const name of privateElements(node)) facts.privateNames.add(name);
}

function analyzeMember(
  walk: ScriptWalk,
  member: Class['body']['body'][number],
  owner: ClassNode,
  context: ScopeContext,
  fields: ScopeContext,
): void {
  if (member.type === 'StaticBlock') {
    walk.visit(member, context);
    return;
  }
  if (member.computed) walk.visit(member.key, context);
  if (member.type === 'PropertyDefinition') walk.visit(member.value, fields);
  else if (member.kind === 'constructor') {
    analyzeFunction(walk, member.value, 'constructor', context, owner);
  } else {
    // Private methods are traced with the constructor: their names are read in its scope.
    const isOwn = !member.static && member.key.type === 'PrivateIdentifier';
    analyzeFunction(walk, member.value, 'method', isOwn ? fields : context);
  }
}

const declaredPrivateNames = ({ body }: ClassNode): string[] =>
  body.body.flatMap((member) =>
    member.type !== 'StaticBlock' && member.key.type === 'PrivateIdentifier'
      ? [member.key.name]
      : [],
  );

/** Returns the names of the private elements that the constructor adds to an instance. */
export function privateElements({ body }: ClassNode): string[] {
  return body.body.flatMap((member) => {
    if (member.type === 'StaticBlock' || member.static) return [];
    return member.key.type === 'PrivateIdentifier' ? [member.key.name] : [];
  });
}
