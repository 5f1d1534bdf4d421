import type { AnyNode } from 'acorn';
import { parseExpressionAt } from '../syntax/parse.ts';
import type { Code } from './code.ts';
import { writes } from './effects.ts';
import { expressionText } from './expression-text.ts';
import type { Pc, Reg } from './instructions.ts';

/** The maximum number of lines read for one expression. */
const maxLines = 20;
const maxLength = 48;

interface Parsed {
  readonly node: AnyNode;
  readonly text: string;
}

/**
 * Returns the instruction's expression in the user's own file; if that isn't JavaScript (because of types) or is
 * unavailable, the text in the running script.
 */
function userExpression(code: Code, pc: Pc): Parsed | undefined {
  const span = code.spans[pc];
  if (!span) return undefined;
  const { source } = code;
  const run = parse(source.text.slice(0, span.end), span.start);
  const { file, line, column } = source.position(span.start);
  const lines: string[] = [];
  for (let i = 0; i < maxLines; i++) {
    const text = source.line(file, line + i);
    if (text === undefined) break;
    lines.push(text);
  }
  if (!run || lines.length === 0) return run;
  const written = parse(lines.join('\n'), column - 1);
  const same = written && counterpart(written, run);
  return same ?? run;
}

function parse(text: string, from: number): Parsed | undefined {
  try {
    const node = parseExpressionAt(text, from, {
      ecmaVersion: 'latest',
      allowSuperOutsideMethod: true,
      checkPrivateFields: false,
    });
    return { node: node.type === 'ChainExpression' ? node.expression : node, text };
  } catch {
    return undefined;
  }
}

/**
 * Finds the counterpart of the running expression. The original text is parsed as far to the right as it is an
 * expression: of the nodes that start at the same position, the counterpart has the same type and the same number
 * of calls.
 */
function counterpart({ node, text }: Parsed, run: Parsed): Parsed | undefined {
  const like = leftmost(run.node);
  return leftmost(node)
    .map((part, index, all) => ({ part, calls: callsIn(all.slice(index)) }))
    .filter(({ part, calls }) => part.type === run.node.type && calls === callsIn(like))
    .map(({ part }) => ({ node: part, text }))
    .at(-1);
}

/** Returns the node and its descendants that start at the same position. */
function leftmost(node: AnyNode): AnyNode[] {
  const first = firstPart(node);
  return first ? [node, ...leftmost(first)] : [node];
}

function firstPart(node: AnyNode): AnyNode | undefined {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return node.left;
    case 'ConditionalExpression':
      return node.test;
    case 'SequenceExpression':
      return node.expressions[0];
    case 'MemberExpression':
      return node.object;
    case 'CallExpression':
      return node.callee;
    case 'ChainExpression':
      return node.expression;
    default:
      return undefined;
  }
}

function callsIn(nodes: readonly AnyNode[]): number {
  return nodes.filter(({ type }) => type === 'CallExpression').length;
}

/** Returns the text of the callee at the instruction, as the user wrote it: `console.log`. */
export function calleeText(code: Code, pc: Pc): string | undefined {
  const { node } = userExpression(code, pc) ?? {};
  if (!node || !('callee' in node)) return undefined;
  const callee = expressionText(node.callee);
  return callee.includes('(intermediate value)') ? undefined : callee;
}

/**
 * Returns the text of the expression that last wrote the register before `pc`: a variable, or an expression short
 * enough to print.
 */
export function registerText(code: Code, pc: Pc, register: Reg): string | undefined {
  for (let at = pc - 1; at >= 0; at--) {
    const instruction = code.instructions[at]!;
    if (writes(instruction) !== register) continue;
    if (instruction.op === 'newCell' || instruction.op === 'loadCell') return instruction.name;
    const found = userExpression(code, at);
    const text = found?.text.slice(found.node.start, found.node.end).replace(/\s+/g, ' ');
    return text !== undefined && text.length <= maxLength ? text : undefined;
  }
  return undefined;
}
