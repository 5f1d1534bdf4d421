import type { Expression, Super } from 'acorn';
import { parseExpressionAt } from '../syntax/parse.ts';
import type { Code } from './code.ts';
import { expressionText } from './expression-text.ts';
import type { Pc, Reg } from './instructions.ts';

/** Messages that V8 words after the source of the failing expression. Computed on failure only. */

export function notCallableText(code: Code, pc: Pc): string {
  const node = expressionAt(code, pc);
  const callee = node && calledText(node);
  if (callee && isIteratedNext(code, pc)) {
    return `${callee} is not a function or its return value is not iterable`;
  }
  const kind = node?.type === 'NewExpression' ? 'constructor' : 'function';
  return `${callee ?? 'The value'} is not a ${kind}`;
}

/** Returns whether the next instruction iterates over the call's result. */
function isIteratedNext(code: Code, pc: Pc): boolean {
  const [call, next] = [code.instructions[pc]!, code.instructions[pc + 1]];
  if (call.op !== 'call' || !next || !('iterable' in next)) return false;
  if (next.iterable !== call.dst) return false;
  return next.op !== 'arraySpread' || !spreadsArguments(code, next.array);
}

/** V8 uses this message for `[...f()]`, but not for `g(...f())`. */
const spreadsArguments = (code: Code, array: Reg): boolean =>
  code.instructions.some(
    (each) => (each.op === 'callSpread' || each.op === 'constructSpread') && each.args === array,
  );

function calledText(node: Expression): string | undefined {
  if ('callee' in node) return calleeText(node.callee);
  return node.type === 'TaggedTemplateExpression' ? calleeText(node.tag) : undefined;
}

/** `(a?.b)()` with parentheses has no name in V8. */
const calleeText = (callee: Expression | Super): string =>
  callee.type === 'ChainExpression' ? '(intermediate value)' : expressionText(callee);

export function notIterableText(
  code: Code,
  pc: Pc,
  value: unknown,
  what: 'iterable' | 'async iterable' = 'iterable',
): string {
  const node = expressionAt(code, pc);
  if (!node) return notIterableValue(value);
  switch (node.type) {
    case 'CallExpression':
      return `${expressionText(node.callee)} is not a function or its return value is not ${what}`;
    case 'ArrayExpression':
    case 'AssignmentExpression':
      return notIterableValue(value);
    default:
      return `${expressionText(node)} is not ${what}`;
  }
}

/** The message for a pattern inside a pattern or parameter list, where no expression provides the value. */
const notIterableValue = (value: unknown): string =>
  `${valueText(value)} is not iterable (cannot read property Symbol(Symbol.iterator))`;

/** Parses the instruction's source text again: bytecode contains offsets, not trees. */
function expressionAt(code: Code, pc: Pc): Expression | undefined {
  const { start, end } = code.spans[pc]!;
  const { text } = code.source;
  const from = text.startsWith('...', start) ? start + 3 : start;
  try {
    const node = parseExpressionAt(text.slice(0, end), from, {
      ecmaVersion: 'latest',
      allowSuperOutsideMethod: true,
      checkPrivateFields: false,
    });
    if (node.end !== end) return undefined; // for example, a property of a pattern
    return node.type === 'ChainExpression' ? node.expression : node;
  } catch {
    return undefined; // not a complete expression
  }
}

/** V8's message for `yield*` of a value that can't be iterated, which names the operand as many `times`. */
export const notDelegableText = (value: unknown, isAsync: boolean, times: number): string =>
  isAsync
    ? `yield* ${'(intermediate value)'.repeat(times)} is not async iterable`
    : notIterableValue(value);

export function valueText(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
    return typeof value;
  }
  return `${typeof value} ${String(value)}`;
}
