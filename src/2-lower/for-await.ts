import type { ForOfStatement } from 'acorn';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';
import { disposeAfter, isUsing } from './using.ts';

/**
 * `for await`. Each protocol step awaits, so closing after an exception is a handler in the code, which can await
 * as well.
 */
export function lowerForAwait(
  l: Lowering,
  node: ForOfStatement,
  store: (value: Reg) => void,
): void {
  const { right } = node;
  const next = l.code.label();
  const end = l.code.label();
  const onThrow = l.code.label();
  const mark = l.code.mark();
  const span = spanOf(right);
  if (l.variables.areUsedEarly(node)) l.variables.enter(node);
  const error = l.code.temp();
  const iterator = l.code.temp();
  const iterable = l.expression(right);
  l.code.intrinsic('asyncIterator', [iterable], span, iterator);
  l.code.bind(next);
  const step = l.code.mark();
  l.variables.enter(node);
  const result = l.code.intrinsic('asyncNext', [iterator], span);
  l.code.emit({ op: 'await', dst: result, src: result }, span);
  l.code.intrinsic('iteratorResult', [result], span, result);
  const value = l.code.temp();
  l.code.emit({ op: 'getProp', dst: value, object: result, key: 'done' }, span);
  l.code.jumpOn('jumpIf', value, end, span);
  l.code.emit({ op: 'getProp', dst: value, object: result, key: 'value' }, span);
  const close = (at: Span): void => closeIterator(l, iterator, at);
  l.targets.within({ next, end, close }, () =>
    l.targets.withinTry(onThrow, error, undefined, () => {
      store(value);
      if (isUsing(node.left)) {
        disposeAfter(l, value, spanOf(node.left), () => l.statement(node.body));
        return;
      }
      l.code.release(step);
      l.statement(node.body);
    }),
  );
  l.code.release(step);
  const after = { start: node.end, end: node.end };
  l.code.jump(next, after);
  l.code.bind(onThrow);
  closeQuietly(l, iterator, after);
  l.code.emit({ op: 'throw', src: error }, after);
  l.code.bind(end);
  l.code.release(mark);
}

/** Closes the iterator when the loop is left early. The result of `return` is awaited and must be an object. */
function closeIterator(l: Lowering, iterator: Reg, span: Span): void {
  const mark = l.code.mark();
  const closed = l.code.label();
  const result = returnResult(l, iterator, closed, span);
  l.code.emit({ op: 'await', dst: result, src: result }, span);
  l.code.intrinsic('iteratorResult', [result], span, result);
  l.code.bind(closed);
  l.code.release(mark);
}

/** Closes the iterator while an exception is pending, which takes precedence over exceptions from closing. */
function closeQuietly(l: Lowering, iterator: Reg, span: Span): void {
  const mark = l.code.mark();
  const closed = l.code.label();
  const ignored = l.code.temp();
  l.code.within({ handler: closed, error: ignored }, () => {
    const result = returnResult(l, iterator, closed, span);
    l.code.emit({ op: 'await', dst: result, src: result }, span);
  });
  l.code.bind(closed);
  l.code.release(mark);
}

/**
 * Emits a call of the `return` method and returns its result's register. Without such a method, control continues
 * at `none`.
 */
function returnResult(
  l: Lowering,
  iterator: Reg,
  none: Parameters<Lowering['code']['bind']>[0],
  span: Span,
): Reg {
  const result = l.code.intrinsic('asyncReturn', [iterator], span);
  l.code.jumpOn('jumpIfNot', result, none, span);
  l.code.emit({ op: 'getProp', dst: result, object: result, key: 'result' }, span);
  return result;
}
