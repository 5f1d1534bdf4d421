import type { Expression } from 'acorn';
import type { Label } from './code-builder.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';

/** Jumps to `target` if the value's truth equals `sense`. `!`, `&&` and `||` become jumps. */
export function lowerCondition(l: Lowering, node: Expression, target: Label, sense: boolean): void {
  if (node.type === 'UnaryExpression' && node.operator === '!') {
    l.condition(node.argument, target, !sense);
    return;
  }
  if (node.type === 'LogicalExpression' && node.operator !== '??') {
    // `a || b` is true as soon as a is; `a && b` is false as soon as a is false.
    const decidedBy = node.operator === '||';
    if (decidedBy === sense) {
      l.condition(node.left, target, sense);
      l.condition(node.right, target, sense);
      return;
    }
    const decided = l.code.label();
    l.condition(node.left, decided, decidedBy);
    l.condition(node.right, target, sense);
    l.code.bind(decided);
    return;
  }
  const mark = l.code.mark();
  const test = l.expression(node);
  l.code.jumpOn(sense ? 'jumpIf' : 'jumpIfNot', test, target, spanOf(node));
  l.code.release(mark);
}
