import { type Expression, parseExpressionAt } from 'acorn';
import type { Code } from './code.ts';
import { writes } from './effects.ts';
import { expressionText } from './expression-text.ts';
import type { Pc, Reg } from './instructions.ts';

/** An instruction's expression as it stands in the user's own file, for messages. */
interface UserExpression {
  readonly node: Expression;
  readonly text: string;
}

/** More lines than this are not read for one expression. */
const maxLines = 20;
const maxLength = 48;

/**
 * Reads the expression again where the user wrote it. Where that is no JavaScript (types inside) or
 * cannot be had, in the script that runs.
 */
function userExpression({ source, spans }: Code, pc: Pc): UserExpression | undefined {
  const span = spans[pc];
  if (!span) return undefined;
  const { file, line, column } = source.position(span.start);
  const lines: string[] = [];
  for (let i = 0; i < maxLines; i++) {
    const text = source.line(file, line + i);
    if (text === undefined) break;
    lines.push(text);
  }
  const written = lines.length > 0 ? parse(lines.join('\n'), column - 1) : undefined;
  return written ?? parse(source.text.slice(0, span.end), span.start);
}

function parse(text: string, from: number): UserExpression | undefined {
  try {
    const parsed = parseExpressionAt(text, from, {
      ecmaVersion: 'latest',
      allowSuperOutsideMethod: true,
      checkPrivateFields: false,
    });
    const node = parsed.type === 'ChainExpression' ? parsed.expression : parsed;
    return { node, text: text.slice(parsed.start, parsed.end).replace(/\s+/g, ' ') };
  } catch {
    return undefined;
  }
}

/** What is called at the instruction, as the user wrote it: `console.log`. */
export function calleeText(code: Code, pc: Pc): string | undefined {
  const { node } = userExpression(code, pc) ?? {};
  if (!node || !('callee' in node)) return undefined;
  const callee = expressionText(node.callee);
  return callee.includes('(intermediate value)') ? undefined : callee;
}

/** What the register was last written by before `pc`: a variable, or an expression short enough to print. */
export function registerText(code: Code, pc: Pc, register: Reg): string | undefined {
  for (let at = pc - 1; at >= 0; at--) {
    const instruction = code.instructions[at]!;
    if (writes(instruction) !== register) continue;
    if (instruction.op === 'newCell' || instruction.op === 'loadCell') return instruction.name;
    const text = userExpression(code, at)?.text;
    return text !== undefined && text.length <= maxLength ? text : undefined;
  }
  return undefined;
}
