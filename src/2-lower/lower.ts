import type { Class, Program, Statement } from 'acorn';
import type { Code, SourceText } from '../vm/bytecode/code.ts';
import { partsOfConstruction } from './classes.ts';
import { lowerAnalysed } from './lower-function.ts';
import { analyze } from './scopes/analyze.ts';
import { findConstructionRefusal, findRefusal } from './syntax/find-refusal.ts';
import type { FunctionNode } from './syntax/nodes.ts';
import { type LowerRefusal, refuse } from './syntax/refusal.ts';

export type { FunctionNode } from './syntax/nodes.ts';
export {
  isLowerRefusal,
  type LowerRefusal,
  type LowerRefusalReason,
  lowerRefusals,
} from './syntax/refusal.ts';

/**
 * In: a function of a script, with its offsets in `source.text`; `name`, if its location names it; `privateNames`:
 * whether the scope that it will run in has access to private names. Out: its bytecode, including its inner functions';
 * or a refusal with the construct and the reason. Guarantees: the code passes `verify`; run by the interpreter, it
 * behaves like the function, in the same order and with the same errors; every instruction is reachable.
 *
 * Names outside the function, including its own name, remain free (`loadFree`). The function's `this` is an
 * instruction; an inner arrow captures it from the frame that creates the arrow.
 */
export function lowerFunction(
  node: FunctionNode,
  source: SourceText,
  kind: Code['kind'],
  strict: boolean,
  name = node.type === 'ArrowFunctionExpression' ? '' : (node.id?.name ?? ''),
  privateNames = false,
): Code | LowerRefusal {
  if (kind === 'constructor') return refuse('class-constructor', node);
  const refusal = findRefusal(node, privateNames);
  if (refusal) return refusal;
  const analysis = analyze(node, { strict, script: false });
  return analysis.refusal ?? lowerAnalysed({ node, kind, name }, source, analysis);
}

/** The code that `new` runs for a class in a native scope. */
export interface Construction {
  readonly constructor: Code;
  /** The field initializer, whose `this` is the new instance. */
  readonly fields: Code | null;
}

/**
 * In: a class of a script; `privateNames` as for functions. Out: the code that creates an instance; or a refusal,
 * also for private elements and computed field names, which only the class itself can add.
 */
export function lowerConstruction(
  node: Class,
  source: SourceText,
  name: string,
  privateNames: boolean,
): Construction | LowerRefusal {
  for (const element of node.body.body) {
    if (element.type === 'StaticBlock' || element.static) continue;
    const isField = element.type === 'PropertyDefinition';
    if (isField && element.computed) return refuse('class-constructor', element);
    const isPrivate = element.key.type === 'PrivateIdentifier';
    if (isPrivate && !privateNames) return refuse('private-name', element);
    const text = isField || isPrivate || element.kind === 'constructor' ? element.value : undefined;
    const refusal = text && findConstructionRefusal(text, privateNames);
    if (refusal) return refusal;
  }
  const analysis = analyze(node, { strict: true, script: false });
  if (analysis.refusal) return analysis.refusal;
  const { maker, fields } = partsOfConstruction(node, name);
  return {
    constructor: lowerAnalysed(maker, source, analysis),
    fields: fields ? lowerAnalysed(fields, source, analysis) : null,
  };
}

/**
 * In: a script. Out: its text as a function body whose variables and functions are global: names of its scope,
 * which has declared them.
 */
export function lowerScript(program: Program, source: SourceText): Code | LowerRefusal {
  const { start, end } = program;
  const statements = program.body as Statement[];
  const node: FunctionNode = {
    type: 'FunctionExpression',
    params: [],
    body: { type: 'BlockStatement', start, end, body: statements },
    start,
    end,
    expression: false,
    generator: false,
    async: false,
  };
  const refusal = findRefusal(node, false, true);
  if (refusal) return refusal;
  const analysis = analyze(node, { strict: false, script: true });
  return analysis.refusal ?? lowerAnalysed({ node, kind: 'function', name: '' }, source, analysis);
}
