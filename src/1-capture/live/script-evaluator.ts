import type { Program } from 'acorn';
import { type FunctionFacts, isNeverReassigned, type LexicalScope } from '../script/binding.ts';
import { isRefusal } from '../script/refusal.ts';
import { findInScopes } from './capture-snapshot.ts';
import type { DebuggerSession } from './debugger-session.ts';
import type { Evaluate } from './entry-probe.ts';
import type { FoundFunction, Script } from './script.ts';

/** An evaluator in a function at the top level of a script. */
interface FunctionEvaluator {
  readonly evaluate: Evaluate;
  /** Names that the function hides. */
  readonly hidden: ReadonlySet<string>;
  /** An object that each run of the script creates, in a variable that never changes. */
  readonly witness: { readonly name: string; readonly value: unknown } | undefined;
}

const inside = new WeakMap<Script, FunctionEvaluator>();

/**
 * Returns an evaluator for the top-level variables of a function's script, if the function uses no others: the
 * evaluator of an earlier captured function. A new evaluator from each function would make the engine parse the whole
 * file again. An ES module has a single instance. Another script may have run several times, so the evaluator's witness
 * must be among the function's outer variables.
 */
export function scriptEvaluator(
  session: DebuggerSession,
  { script, facts, internal }: FoundFunction,
): Evaluate | undefined {
  const known = inside.get(script);
  if (!known || facts.usesSuper || facts.privateNames.size > 0) return undefined;
  if (facts.kind === 'arrow' && facts.usesThis) return undefined;
  if (facts.kind === 'constructor') return undefined;
  for (const [name, binding] of facts.free) {
    if (binding && binding.scope.kind !== 'program') return undefined;
    if (name === 'arguments' || known.hidden.has(name)) return undefined;
  }
  if (script.isModule) return known.evaluate;
  const { witness } = known;
  const found = witness && findInScopes(session, internal, witness.name);
  return found && found.value === witness.value ? known.evaluate : undefined;
}

/** Remembers the evaluator, if only classes are between its function and the top level of the script. */
export function rememberEvaluator(script: Script, facts: FunctionFacts, evaluate: Evaluate): void {
  if (inside.has(script) || facts.kind === 'constructor') return;
  const hidden = new Set([...facts.declared.keys(), ...facts.bodyNames]);
  const { node } = facts;
  if (node.type === 'FunctionExpression' && node.id) hidden.add(node.id.name);
  let scope: LexicalScope | undefined = facts.around;
  for (; scope?.kind === 'class'; scope = scope.parent) {
    for (const name of scope.bindings.keys()) hidden.add(name);
  }
  if (scope?.kind !== 'program') return;
  const witness = script.isModule ? undefined : findWitness(script, evaluate, hidden);
  inside.set(script, { evaluate, hidden, witness });
}

function findWitness(
  { syntax }: Script,
  evaluate: Evaluate,
  hidden: ReadonlySet<string>,
): FunctionEvaluator['witness'] {
  for (const name of syntax.ast.body.flatMap(definedBy)) {
    const binding = syntax.variable(name);
    if (!binding || isRefusal(binding) || !isNeverReassigned(binding) || hidden.has(name)) continue;
    try {
      const value = evaluate(name);
      if (Object(value) === value) return { name, value };
    } catch {
      // Not initialized yet, or unused by all functions, in which case the engine omits it.
    }
  }
  return undefined;
}

/** Returns the variables that a statement initializes with newly created objects. */
function definedBy(statement: Program['body'][number]): string[] {
  if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration') {
    return [statement.id.name];
  }
  if (statement.type !== 'VariableDeclaration') return [];
  return statement.declarations.flatMap(({ id, init }) => {
    const isOwn = init && /^(Function|ArrowFunction|Class|Array|Object)Expression$/.test(init.type);
    return isOwn && id.type === 'Identifier' ? [id.name] : [];
  });
}
