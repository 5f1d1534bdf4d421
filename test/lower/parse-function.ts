import type { AnyNode } from 'acorn';
import type { LowerRefusal } from '../../src/2-lower/lower.ts';
import { type FunctionNode, isLowerRefusal, lowerFunction } from '../../src/2-lower/lower.ts';
import type { Code, SourceText } from '../../src/vm/bytecode/code.ts';
import { verify } from '../../src/vm/bytecode/verify.ts';
import { parseExpressionAt } from '../../src/vm/syntax/parse.ts';

export function sourceText(text: string): SourceText {
  return {
    file: 'example.js',
    text,
    position(offset) {
      const lines = text.slice(0, offset).split('\n');
      return { file: 'example.js', line: lines.length, column: lines.at(-1)!.length + 1 };
    },
    line: (_file, line) => text.split('\n')[line - 1],
  };
}

/** The first function in the text, which is an expression. */
export function findFunction(text: string): { node: FunctionNode; kind: Code['kind'] } {
  const root = parseExpressionAt(text, 0, {
    ecmaVersion: 'latest',
    sourceType: 'script',
    checkPrivateFields: false,
    allowSuperOutsideMethod: true,
  });
  const found = search(root, 'function');
  if (!found) throw new Error(`no function in ${text}`);
  return found;
}

function search(
  node: AnyNode,
  kind: Code['kind'],
): { node: FunctionNode; kind: Code['kind'] } | undefined {
  if (node.type === 'ArrowFunctionExpression') return { node, kind: 'arrow' };
  if (node.type === 'FunctionExpression') return { node, kind };
  for (const child of Object.values(node).flat()) {
    if (typeof child !== 'object' || child === null || !('type' in child)) continue;
    const isMethod = node.type === 'Property' && node.method && child === node.value;
    const found = search(child as AnyNode, isMethod ? 'method' : kind);
    if (found) return found;
  }
  return undefined;
}

export function lowerText(text: string, strict = true): Code | LowerRefusal {
  const { node, kind } = findFunction(text);
  return lowerFunction(node, sourceText(text), kind, strict);
}

/** Lowered and verified; a refusal fails the test. */
export function lowerChecked(text: string, strict = true): Code {
  const code = lowerText(text, strict);
  if (isLowerRefusal(code)) throw new Error(`refused: ${code.reason}`);
  verify(code);
  return code;
}
