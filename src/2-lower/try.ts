import type { BlockStatement, CatchClause, TryStatement } from 'acorn';
import { Finalizer } from './finalizer.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';

export function lowerTry(l: Lowering, node: TryStatement): void {
  const { block, handler, finalizer } = node;
  const body = (): void => (handler ? lowerCatch(l, block, handler) : l.statement(block));
  if (finalizer) lowerFinally(l, finalizer, node.start, body);
  else body();
}

function lowerFinally(l: Lowering, node: BlockStatement, start: number, body: () => void): void {
  const mark = l.code.mark();
  const finalizer = new Finalizer(l.code, { start, end: start });
  const onThrow = l.code.label();
  l.targets.withinTry(onThrow, finalizer.value, finalizer, body);
  finalizer.lower(onThrow, spanOf(node), () => l.statement(node));
  l.code.release(mark);
}

function lowerCatch(l: Lowering, block: BlockStatement, clause: CatchClause): void {
  const mark = l.code.mark();
  const error = l.code.temp();
  const onThrow = l.code.label();
  const end = l.code.label();
  l.targets.withinTry(onThrow, error, undefined, () => l.statement(block));
  l.code.jump(end, { start: block.end, end: block.end });
  l.code.bind(onThrow);
  const { param } = clause;
  if (param) {
    l.variables.enter(clause);
    l.target(param, 'declare')(error, spanOf(param), clause);
  }
  l.statement(clause.body);
  l.code.bind(end);
  l.code.release(mark);
}
