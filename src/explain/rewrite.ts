/** Suggests how to rewrite the user's text so that a graph break disappears. */

import {
  type AnyNode,
  type BinaryExpression,
  type BlockStatement,
  type CallExpression,
  type Expression,
  type ExpressionStatement,
  type Identifier,
  type IfStatement,
  parse,
  type ReturnStatement,
  type Statement,
} from 'acorn';
import type { BreakReason } from '../traces/graph-break.ts';
import type { Span } from '../vm/bytecode/instructions.ts';
import { childrenOf } from '../vm/syntax/children.ts';
import { lineDiff, printLineDiff } from './line-diff.ts';
import { lineStart, removeLines } from './statement-lines.ts';
import { TextEdits } from './text-edits.ts';

/**
 * In: the script, and the span of the instruction at which the graph ended. Out: the changed lines as a patch; null
 * if no rewrite is known that preserves the result.
 */
export function rewriteOf(text: string, span: Span, reason: BreakReason): string[] | null {
  const path = pathTo(text, span);
  if (!path) return null;
  const edited = new TextEdits(text);
  if (!rules.get(reason)?.some((rule) => rule({ text, path, edited }))) return null;
  const patch = printLineDiff(lineDiff(text, edited.toString()));
  // A tool has joined the user's lines, which would be unrecognizable.
  return patch.some((line) => line.length > readable) ? null : patch;
}

const readable = 200;

interface Place {
  readonly text: string;
  /** From the program down to the innermost node around the span. */
  readonly path: readonly AnyNode[];
  readonly edited: TextEdits;
}

/** Edits the text, or returns false without a change. */
type Rule = (place: Place) => boolean;

const rules = new Map<BreakReason, readonly Rule[]>([
  ['data-read', [decideInGraph, moveToEnd]],
  ['data-size', [moveToEnd]],
  ['native-call', [moveToEnd]],
  ['forced', [removeStatement]],
  ['in-place', [withoutUnderscore]],
]);

function pathTo(text: string, { start, end }: Span): AnyNode[] | null {
  let node: AnyNode;
  try {
    node = parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true });
  } catch {
    return null;
  }
  const path: AnyNode[] = [node];
  for (;;) {
    const inner: AnyNode | undefined = [...childrenOf(node)].find(
      (child) => child.start <= start && end <= child.end,
    );
    if (!inner) return path;
    path.push(inner);
    node = inner;
  }
}

function innermost<T extends AnyNode['type']>(
  path: readonly AnyNode[],
  type: T,
): Extract<AnyNode, { type: T }> | undefined {
  return path.findLast((node): node is Extract<AnyNode, { type: T }> => node.type === type);
}

const comparisons: Readonly<Record<string, string>> = {
  '>': 'gt',
  '>=': 'ge',
  '<': 'lt',
  '<=': 'le',
  '===': 'eq',
  '==': 'eq',
  '!==': 'ne',
  '!=': 'ne',
};

/** `if (x.itemSync() > 3) y = a; else y = b;` → `y = where(x.gt(3), a, b);` */
function decideInGraph({ text, path, edited }: Place): boolean {
  const decision = innermost(path, 'IfStatement');
  const test = decision && comparison(text, decision.test);
  if (!decision || !test || !path.includes(decision.test)) return false;
  const [yes, no] = [onlyStatement(decision.consequent), onlyStatement(decision.alternate)];
  const print = (node: Expression) => text.slice(node.start, node.end);
  const chosen = (a: string, b: string) => `where(${test}, ${a}, ${b})`;
  const yesAssigned = yes && assignment(yes);
  if (yesAssigned) {
    const noAssigned = no && assignment(no);
    if (no && noAssigned?.target !== yesAssigned.target) return false;
    const { target, value } = yesAssigned;
    const otherwise = noAssigned ? print(noAssigned.value) : target;
    const result = `${target} = ${chosen(print(value), otherwise)};`;
    edited.replace(decision.start, decision.end, result);
    return true;
  }
  if (yes?.type !== 'ReturnStatement' || !yes.argument) return false;
  const next = no ?? statementAfter(path, decision);
  if (next?.type !== 'ReturnStatement' || !next.argument) return false;
  const end = Math.max(decision.end, next.end);
  const result = `return ${chosen(print(yes.argument), print(next.argument))};`;
  edited.replace(decision.start, end, result);
  return true;
}

/** Rewrites a comparison of a number read from a tensor as a comparison of tensors. */
function comparison(text: string, test: Expression): string | undefined {
  if (test.type !== 'BinaryExpression') return undefined;
  const method = comparisons[test.operator];
  const tensor = readTensor(text, test.left as BinaryExpression['right']);
  if (method === undefined || tensor === undefined) return undefined;
  const right = readTensor(text, test.right) ?? text.slice(test.right.start, test.right.end);
  return `${tensor}.${method}(${right})`;
}

/** `t` of `t.itemSync()`. */
function readTensor(text: string, node: Expression): string | undefined {
  if (node.type !== 'CallExpression' || node.arguments.length > 0) return undefined;
  const { callee } = node;
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return undefined;
  if (callee.property.name !== 'itemSync' || callee.object.type === 'Super') return undefined;
  return text.slice(callee.object.start, callee.object.end);
}

function onlyStatement(node: Statement | null | undefined): Statement | undefined {
  if (node?.type !== 'BlockStatement') return node ?? undefined;
  return node.body.length === 1 ? node.body[0] : undefined;
}

function assignment(node: Statement): { target: string; value: Expression } | undefined {
  if (node.type !== 'ExpressionStatement') return undefined;
  const { expression } = node;
  if (expression.type !== 'AssignmentExpression' || expression.operator !== '=') return undefined;
  if (expression.left.type !== 'Identifier') return undefined;
  return { target: expression.left.name, value: expression.right };
}

function statementAfter(path: readonly AnyNode[], node: IfStatement): Statement | undefined {
  const block = path[path.indexOf(node) - 1];
  if (block?.type !== 'BlockStatement') return undefined;
  return block.body[block.body.indexOf(node) + 1];
}

/** Moves a report to the end: everything before it is then one graph. */
function moveToEnd({ text, path, edited }: Place): boolean {
  const statement = innermost(path, 'ExpressionStatement');
  if (statement?.expression.type !== 'CallExpression') return false;
  if (!isReport(statement.expression)) return false;
  const at = path.indexOf(statement);
  const [body, fn] = [path[at - 1], path[at - 2]];
  if (body?.type !== 'BlockStatement' || !fn || !('params' in fn)) return false;
  const last = body.body.at(-1)!;
  const rest = body.body.slice(body.body.indexOf(statement) + 1);
  if (rest.length === 0 || !rest.every((each) => leaves(each, statement))) return false;
  if (!rest.some(computes)) return false;
  const report = text.slice(statement.start, statement.end);
  const indent = text.slice(lineStart(text, last.start), last.start);
  if (indent.trim() !== '') return false;
  removeLines(text, statement, edited);
  if (last.type !== 'ReturnStatement') edited.replace(last.end, last.end, `\n${indent}${report}`);
  else edited.replace(last.start, last.end, returned(text, last, report, indent, body));
  return true;
}

function returned(
  text: string,
  { argument }: ReturnStatement,
  report: string,
  indent: string,
  body: BlockStatement,
): string {
  if (!argument || argument.type === 'Identifier') {
    return `${report}\n${indent}return${argument ? ` ${argument.name}` : ''};`;
  }
  const name = namesIn(body).has('result') ? 'returned' : 'result';
  const value = text.slice(argument.start, argument.end);
  return [`const ${name} = ${value};`, report, `return ${name};`].join(`\n${indent}`);
}

/** Whether the later statement neither changes nor needs what the report reads, and doesn't return early. */
function leaves(later: Statement, report: ExpressionStatement): boolean {
  const call = report.expression as CallExpression;
  const used = namesIn(report);
  const prints = isReceiver(call, 'console');
  const changed = new Set<string>();
  let ends = false;
  walk(later, (node) => {
    if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier') {
      changed.add(node.left.name);
    }
    if (node.type === 'UpdateExpression' && node.argument.type === 'Identifier') {
      changed.add(node.argument.name);
    }
    if (node.type === 'ReturnStatement' && node !== later) ends = true;
    // A value that the call changes must not be used earlier.
    if (!prints && node.type === 'Identifier' && isReceiver(call, node.name)) ends = true;
  });
  return !ends && [...changed].every((name) => !used.has(name));
}

/** Whether the call prints or appends to a list, and its result is unused. */
function isReport(call: CallExpression): boolean {
  const { callee } = call;
  if (callee.type !== 'MemberExpression') return false;
  return isReceiver(call, 'console') || isNamed(callee.property, 'push');
}

function isReceiver({ callee }: CallExpression, name: string): boolean {
  return callee.type === 'MemberExpression' && isNamed(callee.object, name);
}

const isNamed = (node: AnyNode, name: string): boolean =>
  node.type === 'Identifier' && node.name === name;

/** Whether the statement may contain tensor ops. */
function computes(statement: Statement): boolean {
  let found = false;
  walk(statement, (node) => {
    if (node.type === 'CallExpression') found = true;
  });
  return found;
}

/** Removes `breakGraph();`. */
function removeStatement({ text, path, edited }: Place): boolean {
  const statement = innermost(path, 'ExpressionStatement');
  if (statement?.expression.type !== 'CallExpression') return false;
  if (statement.expression.arguments.length > 0) return false;
  removeLines(text, statement, edited);
  return true;
}

/** `x.add_(y);` → `x = x.add(y);`, if `x` is an assignable variable. */
function withoutUnderscore({ path, edited }: Place): boolean {
  const statement = innermost(path, 'ExpressionStatement');
  const call = statement?.expression;
  if (!statement || call?.type !== 'CallExpression') return false;
  const { callee } = call;
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false;
  const { name } = callee.property;
  if (callee.object.type !== 'Identifier' || !name.endsWith('_')) return false;
  const target = callee.object.name;
  if (!isAssignable(path, target)) return false;
  edited.replace(callee.property.start, callee.property.end, name.slice(0, -1));
  edited.replace(statement.start, statement.start, `${target} = `);
  return true;
}

/** Whether the name is a parameter of the function itself, or declared in it with `let`. */
function isAssignable(path: readonly AnyNode[], name: string): boolean {
  const fn = path.findLast((node) => 'params' in node);
  if (!fn || !('params' in fn)) return false;
  if (fn.params.some((param) => isNamed(param, name))) return true;
  let found = false;
  walk(fn.body, (node) => {
    if (node.type !== 'VariableDeclaration' || node.kind !== 'let') return;
    if (node.declarations.some(({ id }) => isNamed(id, name))) found = true;
  });
  return found;
}

function walk(node: AnyNode, visit: (node: AnyNode) => void): void {
  visit(node);
  for (const child of childrenOf(node)) walk(child, visit);
}

function namesIn(node: AnyNode): ReadonlySet<string> {
  const names = new Set<string>();
  walk(node, (each) => {
    if (each.type === 'Identifier') names.add((each as Identifier).name);
  });
  return names;
}
