import type { AnyNode, FunctionDeclaration, Statement } from 'acorn';
import { statementsIn } from '../../vm/syntax/children.ts';
import { patternNames } from '../../vm/syntax/patterns.ts';
import { clause, declaredFunction, isClass, isFunctionNode } from '../syntax/nodes.ts';
import { scriptLexicals } from './declarations.ts';

/**
 * In: the body of a sloppy function. Out: the functions in its blocks that are also variables of the function
 * (ECMAScript, annex B.3.2): those for which a `var` of the same name would not be an error.
 */
export function hoistedFunctions(
  body: readonly Statement[],
  taken: ReadonlySet<string>,
): FunctionDeclaration[] {
  const found: FunctionDeclaration[] = [];
  const visitList = (statements: readonly AnyNode[], blocked: ReadonlySet<string>): void => {
    const lexical = lexicalNames(statements);
    const functions = statements.flatMap((each) => declaredFunction(each) ?? []);
    for (const fn of functions) {
      const isPlain = !fn.async && !fn.generator;
      if (isPlain && !blocked.has(fn.id.name) && !lexical.has(fn.id.name)) found.push(fn);
    }
    const inside = new Set([...blocked, ...lexical, ...functions.map(({ id }) => id.name)]);
    for (const statement of statements) visit(statement, inside);
  };
  const visit = (node: AnyNode, blocked: ReadonlySet<string>): void => {
    if (isFunctionNode(node) || isClass(node)) return;
    switch (node.type) {
      case 'BlockStatement':
        visitList(node.body, blocked);
        return;
      case 'SwitchStatement':
        visitList(
          node.cases.flatMap(({ consequent }) => consequent),
          blocked,
        );
        return;
      case 'IfStatement':
        for (const part of [node.consequent, node.alternate]) {
          if (part) visit(clause(part), blocked);
        }
        return;
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement': {
        const head = node.type === 'ForStatement' ? node.init : node.left;
        visit(node.body, new Set([...blocked, ...(head ? lexicalNames([head]) : [])]));
        return;
      }
      case 'CatchClause': {
        // A simple parameter may have the same name as a `var`.
        const names =
          node.param && node.param.type !== 'Identifier' ? patternNames(node.param) : [];
        visit(node.body, new Set([...blocked, ...names]));
        return;
      }
      default:
        for (const child of statementsIn(node)) visit(child, blocked);
    }
  };
  const blocked = new Set([...taken, ...lexicalNames(body)]);
  for (const statement of body) visit(statement, blocked);
  return found;
}

const lexicalNames = (statements: readonly AnyNode[]): Set<string> =>
  new Set(scriptLexicals(statements).map(({ name }) => name));
