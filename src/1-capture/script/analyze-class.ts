import type { AnyNode, Class } from 'acorn';
import { type Binding, type FunctionFacts, LexicalScope } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';
import { declareLocal, type Place } from './place.ts';

/** The parts of the script analysis that analyzing a class needs. */
export interface ClassWalk {
  readonly functions: readonly FunctionFacts[];
  readonly classes: Map<ClassNode, ReadonlyMap<string, Binding | undefined>>;
  visit(node: AnyNode | null | undefined, place: Place): void;
  visitFunction(
    node: FunctionNode,
    kind: FunctionFacts['kind'],
    place: Place,
    classNode?: ClassNode,
  ): void;
}

/** Analyzes a class: its inner name, its members, and the outer names that its fields use. */
export function analyzeClass(walk: ClassWalk, node: ClassNode, place: Place): void {
  const { functions, classes, visit } = walk;
  const scope = new LexicalScope('class', place.scope);
  if (node.id) declareLocal(scope, node.id.name, 'self', place, node);
  const inner: Place = { ...place, scope, strict: true };
  visit(node.superClass, inner);
  const free = new Map<string, Binding | undefined>();
  classes.set(node, free);
  const written = new Set<string>();
  const boundary = { free, written, kind: 'constructor', strict: true } as const;
  const fields: Place = {
    ...inner,
    scope: new LexicalScope('function', scope, boundary),
    ownThis: true,
    inLoop: false,
  };
  for (const member of node.body.body) analyzeMember(walk, member, node, inner, fields);
  // The constructor initializes the fields, so their names are read through its scope.
  const explicit = functions.find((facts) => facts.classNode === node);
  for (const [name, binding] of free) explicit?.free.set(name, binding);
  for (const name of written) explicit?.written.add(name);
  for (const name of privateElements(node)) explicit?.privateNames.add(name);
}

function analyzeMember(
  { visit, visitFunction }: ClassWalk,
  member: Class['body']['body'][number],
  owner: ClassNode,
  place: Place,
  fields: Place,
): void {
  if (member.type === 'StaticBlock') {
    visit(member, place);
    return;
  }
  if (member.computed) visit(member.key, place);
  if (member.type === 'PropertyDefinition') visit(member.value, fields);
  else if (member.kind === 'constructor') {
    visitFunction(member.value, 'constructor', place, owner);
  } else {
    // Private methods are traced along with the constructor: their names are read in its scope.
    const isOwn = !member.static && member.key.type === 'PrivateIdentifier';
    visitFunction(member.value, 'method', isOwn ? fields : place);
  }
}

/** Returns the names of the private elements that the constructor adds to an instance. */
export function privateElements({ body }: ClassNode): string[] {
  return body.body.flatMap((member) => {
    if (member.type === 'StaticBlock' || member.static) return [];
    return member.key.type === 'PrivateIdentifier' ? [member.key.name] : [];
  });
}
