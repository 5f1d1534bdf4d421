import { parse } from '../../vm/syntax/parse.ts';
import { privateElements } from './analyze-class.ts';
import { analyzeScript } from './analyze-script.ts';
import type { Binding, FunctionFacts } from './binding.ts';
import type { ClassNode, FunctionNode } from './captured-function.ts';

/** Whether the class has no constructor of its own. */
export const isImplicit = ({ body }: ClassNode): boolean =>
  !body.body.some((member) => member.type === 'MethodDefinition' && member.kind === 'constructor');

const implicitConstructors = new WeakMap<ClassNode, FunctionFacts>();

/** Returns the facts about the implicit constructor of a class whose fields use the names. */
export function implicitConstructor(
  classNode: ClassNode,
  fieldNames: ReadonlyMap<string, Binding | undefined>,
): FunctionFacts {
  const known = implicitConstructors.get(classNode);
  if (known) return known;
  const derived = classNode.superClass != null;
  const rest = derived ? '(...args) { super(...args) }' : '() {}';
  const program = parse(`(class extends Object { constructor${rest} })`, { ecmaVersion: 'latest' });
  const synthetic = analyzeScript(program).functions[0];
  if (!synthetic) throw new Error('invariant: a synthetic constructor has one function');
  moveTo(synthetic.node, classNode.start);
  const facts = {
    ...synthetic,
    classNode,
    free: new Map(fieldNames),
    declared: new Map(),
    privateNames: new Set(privateElements(classNode)),
  };
  implicitConstructors.set(classNode, facts);
  return facts;
}

function moveTo(node: FunctionNode, offset: number): void {
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('start' in value && 'end' in value) Object.assign(value, { start: offset, end: offset });
    for (const child of Object.values(value)) visit(child);
  };
  visit(node);
}
