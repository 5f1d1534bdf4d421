import type { AnyNode } from 'acorn';
import { parseExpressionAt } from '../syntax/parse.ts';
import type { Code } from './code.ts';
import { writes } from './effects.ts';
import { expressionText } from './expression-text.ts';
import type { Pc, Reg } from './instructions.ts';

/** More lines than this are not read for one expression. */
const maxLines = 20;
const maxLength = 48;

interface Parsed {
  readonly node: AnyNode;
  readonly text: string;
}

/**
 * The text of the instruction's expression in the user's own file. If that is not JavaScript (types
 * inside) or is unavailable, the text in the running script.
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
 * The original continues to the right as far as it is an expression: of what begins at the same place, the
 * part that is like the one that runs, with as many calls in it.
 */
function counterpart({ node, text }: Parsed, run: Parsed): Parsed | undefined {
  const like = leftmost(run.node);
  return leftmost(node)
    .map((part, index, all) => ({ part, calls: callsIn(all.slice(index)) }))
    .filter(({ part, calls }) => part.type === run.node.type && calls === callsIn(like))
    .map(({ part }) => ({ node: part, text }))
    .at(-1);
}

/** The node and those inside it that begin where it begins. */
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
 * Returns the text of the expression that wrote the register last before `pc`: a variable, or an expression short
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
