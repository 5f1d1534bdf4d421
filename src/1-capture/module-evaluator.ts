import type { AnyNode } from 'acorn';
import type { FunctionFacts } from './binding.ts';
import type { Evaluate } from './entry-probe.ts';
import type { Script } from './script.ts';

/** An evaluator in a function that stands at the top of a module, with the names that it hides. */
interface Inside {
  readonly evaluate: Evaluate;
  readonly facts: FunctionFacts;
}

const inside = new WeakMap<Script, Inside>();

/**
 * What reads the variables of a function's module, where it uses no others: the evaluator of a function
 * captured before it. To take one out of each function, the engine parses the whole file again. Only
 * for ES modules: of them there is one instance per script.
 */
export function moduleEvaluator(script: Script, facts: FunctionFacts): Evaluate | undefined {
  const known = script.isModule ? inside.get(script) : undefined;
  if (!known || facts.usesSuper || facts.privateNames.size > 0) return undefined;
  if (facts.kind === 'arrow' && facts.usesThis) return undefined;
  if (facts.kind === 'constructor') return undefined;
  for (const [name, binding] of facts.free) {
    if (binding && binding.scope.kind !== 'program') return undefined;
    if (name === 'arguments' || hides(known.facts, name)) return undefined;
  }
  return known.evaluate;
}

/** Keeps the evaluator, if nothing stands between its function and the module. */
export function rememberEvaluator(script: Script, facts: FunctionFacts, evaluate: Evaluate): void {
  if (!script.isModule || inside.has(script) || !isAtTop(script, facts)) return;
  inside.set(script, { evaluate, facts });
}

const hides = ({ declared, bodyNames }: FunctionFacts, name: string): boolean =>
  declared.has(name) || bodyNames.has(name);

function isAtTop({ body = [] }: Script, { node }: FunctionFacts): boolean {
  return body.some((statement) => {
    const isExport =
      statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration';
    const declared = isExport ? statement.declaration : statement;
    return declared != null && isItself(declared, node);
  });
}

function isItself(declared: AnyNode, node: FunctionFacts['node']): boolean {
  if (declared === node) return node.type !== 'FunctionExpression' || !node.id;
  if (declared.type !== 'VariableDeclaration') return false;
  return declared.declarations.some(({ init }) => init != null && isItself(init, node));
}
