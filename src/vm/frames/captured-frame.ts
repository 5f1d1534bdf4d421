/** Frames of captured code as the engine would list them: function, file, line and column. */

import type { AnyNode } from 'acorn';
import { ownPartOfFile } from '../../../runtime/errors/own-code.ts';
import type { CapturedFrame } from '../../../runtime/errors/position.ts';
import type { Code, SourcePosition } from '../bytecode/code.ts';
import type { Pc } from '../bytecode/instructions.ts';
import { parseExpressionAt } from '../syntax/parse.ts';

const offsets = new WeakMap<Code, Map<Pc, number>>();

/** Returns undefined for code of this package, and for code without a file. */
export function capturedFrame(
  code: Code,
  pc: Pc,
  thisValue: unknown,
  engineName?: string,
): CapturedFrame | undefined {
  if (!code.instructions[pc] || ownPartOfFile(code.source.file) !== null) return undefined;
  const position = raisingPosition(code, pc);
  if (position.file === '<anonymous>') return undefined;
  const name = nameOf(code, thisValue, engineName);
  return name === '' ? position : { ...position, name };
}

/** The position that V8 reports for an instruction that calls or throws: `b` in `a.b()`. */
export const raisingPosition = (code: Code, pc: Pc): SourcePosition =>
  code.source.position(raisingOffset(code, pc));

/** Keywords before the expression or binding that V8 names. */
const prefix = /^(?:(?:throw|const|let|var|(?:await\s+)?using)\b\s*)?/;
const spread = /^\.\.\.\s*/;

/** Like `raisingPosition`, as an offset in the running text. */
function raisingOffset(code: Code, pc: Pc): number {
  const known = offsets.get(code) ?? new Map<Pc, number>();
  offsets.set(code, known);
  let offset = known.get(pc);
  if (offset === undefined) {
    const { start, end } = code.spans[pc]!;
    const { text } = code.source;
    const isSpread = code.instructions[pc]!.op === 'arraySpread';
    const before = (isSpread ? spread : prefix).exec(text.slice(start, end));
    const from = start + (before?.[0].length ?? 0);
    const node = expressionAt(text.slice(0, end), from);
    offset = node ? placeIn(node, text) : from;
    known.set(pc, offset);
  }
  return offset;
}

function expressionAt(text: string, from: number): AnyNode | undefined {
  try {
    return parseExpressionAt(text, from, {
      ecmaVersion: 'latest',
      allowAwaitOutsideFunction: true,
      allowSuperOutsideMethod: true,
      checkPrivateFields: false,
    });
  } catch {
    return undefined; // a statement, or part of one
  }
}

/** Returns the position of a node: the name for a call or a read, the operator for an assignment. */
function placeIn(node: AnyNode, text: string): number {
  switch (node.type) {
    case 'ChainExpression':
      return placeIn(node.expression, text);
    case 'CallExpression': {
      const { callee } = node;
      const isParenthesized = /^\s*\)/.test(text.slice(callee.end, node.end));
      if (isParenthesized) return following(text, callee.end, '(');
      if (callee.type === 'Identifier' || callee.type === 'Super') return callee.start;
      if (callee.type === 'MemberExpression' && !callee.computed) return callee.property.start;
      return following(text, callee.end, '(');
    }
    case 'MemberExpression':
      return node.computed ? following(text, node.object.end, '[') : node.property.start;
    case 'AssignmentExpression':
      return node.left.type === 'MemberExpression'
        ? following(text, node.left.end, node.operator)
        : node.start;
    case 'TaggedTemplateExpression':
      return node.quasi.start;
    default:
      return node.start;
  }
}

/** Returns the next position of `sign` from `offset` on, after closing parentheses. */
function following(text: string, offset: number, sign: string): number {
  const at = text.indexOf(sign, offset);
  return at < 0 ? offset : at;
}

/** `engineName`: the engine's name for the function that runs in place of the user's. */
function nameOf(code: Code, thisValue: unknown, engineName?: string): string {
  const { name, kind, isAsync } = code;
  if (isFieldInitializer(code)) {
    // To the engine, the class that represents a class of the code has no name.
    const type = engineName?.replace(/\.?eval$|^constructor\..*/, '') ?? typeName(thisValue);
    return `${type ? `${type}.` : ''}<instance_members_initializer>`;
  }
  // The engine calls nameless functions `eval`.
  if (engineName && !/(?:^|\.)eval$/.test(engineName)) return engineName;
  if (name === '' || kind === 'arrow') return name;
  if (kind === 'constructor' || kind === 'derivedConstructor') return `new ${name}`;
  const type = isAsync ? undefined : typeName(thisValue);
  return type === undefined ? name : `${type}.${name}`;
}

/** A field initializer's span is the body of the class; a method's starts with its parameters. */
const isFieldInitializer = ({ kind, name, source, span }: Code): boolean =>
  kind === 'method' && name === '' && source.text[span.start] === '{';

/** Returns the receiver's type name in stack traces. Runs no user code. */
function typeName(value: unknown): string | undefined {
  if (typeof value === 'function') return 'Function';
  if (typeof value !== 'object' || value === null || value === globalThis) return undefined;
  for (let at: object | null = value; at; at = Object.getPrototypeOf(at)) {
    const type: unknown = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof type !== 'function') continue;
    const name: unknown = Object.getOwnPropertyDescriptor(type, 'name')?.value;
    return typeof name === 'string' && name !== '' ? name : undefined;
  }
  return undefined;
}
