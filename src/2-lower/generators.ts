import type { YieldExpression } from 'acorn';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';

/** Lowers `yield`. A generator that receives a `return` there leaves the function, so `finally` blocks run. */
export function lowerYield(l: Lowering, node: YieldExpression, dst = l.code.temp()): Reg {
  const span = spanOf(node);
  const mark = l.code.mark();
  const returned = l.code.label();
  const end = l.code.label();
  const src = node.argument ? l.expression(node.argument) : l.code.constant(undefined, span);
  // The value of a `return` is not the value of the `yield` expression.
  const sent = l.code.temp();
  l.code.yield(node.delegate ? 'delegate' : 'yield', sent, src, returned, span);
  l.code.emit({ op: 'move', dst, src: sent }, span);
  l.code.jump(end, span);
  l.code.bind(returned);
  l.targets.return(sent, span);
  l.code.bind(end);
  l.code.release(mark);
  return dst;
}

/** Emits a return. An async generator awaits the value before any enclosing `finally` runs. */
export function lowerReturn(l: Lowering, value: Reg, span: Span): void {
  if (!l.isAsync || !l.isGenerator) {
    l.targets.return(value, span);
    return;
  }
  const returned = l.code.label();
  const waited = l.code.temp();
  l.code.yield('return', waited, value, returned, span);
  l.code.bind(returned);
  l.targets.return(waited, span);
}
