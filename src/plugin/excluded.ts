import type { AnyNode, Comment, Program } from 'acorn';
import { childrenOf } from '../vm/syntax/children.ts';
import { isFunctionNode } from '../vm/syntax/function-node.ts';
import { excludedInOriginal } from './excluded-original.ts';

export interface Range {
  readonly start: number;
  readonly end: number;
}

const directive = /^\s*tostatic:\s*exclude\s*$/;

/**
 * Returns the ranges excluded by `// tostatic: exclude`, with everything inside: the function or class that begins on
 * the same line after it or on the next line; otherwise the whole file if the comment precedes all code; otherwise the
 * function that contains it.
 */
export function excludedRanges(
  code: string,
  ast: Program,
  comments: readonly Comment[],
  incoming: string | object | undefined,
): Range[] {
  const directives = comments.filter(({ value }) => directive.test(value));
  const targets = functionsAndClasses(ast);
  if (directives.length === 0) return excludedInOriginal(code, targets, incoming);
  return directives.flatMap((comment) => {
    const lineEnd = endOfLine(code, comment.end);
    const restOfLine = code.slice(comment.end, lineEnd).trim();
    const last = restOfLine === '' ? endOfLine(code, lineEnd + 1) : lineEnd;
    const next = targets.find(({ start }) => comment.end <= start && start < last);
    if (next) return [next];
    const first = ast.body[0]?.start ?? code.length;
    if (comment.end <= first) return [{ start: 0, end: code.length }];
    const around = targets.findLast((node) => node.start < comment.start && comment.end < node.end);
    return around ? [around] : [];
  });
}

/** In source order, outer ones before inner ones. */
function functionsAndClasses(ast: Program): Range[] {
  const found: Range[] = [];
  const visit = (node: AnyNode): void => {
    // A method begins at its key, but its function only at the parenthesis.
    if (
      node.type === 'MethodDefinition' ||
      (node.type === 'Property' && (node.method || node.kind !== 'init'))
    ) {
      found.push(node);
    } else if (isFunctionNode(node) || /^Class(Declaration|Expression)$/.test(node.type)) {
      found.push(node);
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(ast);
  return found;
}

function endOfLine(code: string, from: number): number {
  const end = code.indexOf('\n', from);
  return end < 0 ? code.length : end;
}
