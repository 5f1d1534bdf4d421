import type { AnyNode, VariableDeclaration } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import { Finalizer } from './finalizer.ts';
import type { Lowering } from './lowering.ts';
import { spanOf } from './syntax/nodes.ts';

export const isUsing = (node: AnyNode): node is VariableDeclaration =>
  node.type === 'VariableDeclaration' && node.kind === 'using';

/** Lowers `using a = …, b = …;` and the rest of its block. Every exit from the block disposes `b`, then `a`. */
export function lowerUsing(l: Lowering, node: VariableDeclaration, rest: () => void): void {
  const from = (index: number): void => {
    const declared = node.declarations[index];
    if (!declared) {
      rest();
      return;
    }
    const { id, init } = declared;
    invariant(id.type === 'Identifier' && init, 'using declares a name with a value');
    const mark = l.code.mark();
    const span = spanOf(declared);
    const value = l.code.temp();
    l.named(init, id.name, value);
    disposeAfter(l, value, span, () => {
      l.variables.initialize(id, value, span);
      from(index + 1);
    });
    l.code.release(mark);
  };
  from(0);
}

/**
 * Runs the body, then disposes the value, which remains in its register until then. The method is looked up before the
 * body; a value without one is rejected.
 */
export function disposeAfter(l: Lowering, value: Reg, span: Span, body: () => void): void {
  const mark = l.code.mark();
  const dispose = l.code.intrinsic('disposer', [value], span);
  const finalizer = new Finalizer(l.code, span);
  const onThrow = l.code.label();
  l.targets.withinTry(onThrow, finalizer.value, finalizer, body);
  finalizer.lower(onThrow, span, () => lowerDisposal(l, { value, dispose }, finalizer, span));
  l.code.release(mark);
}

interface Resource {
  readonly value: Reg;
  /** Undefined if the value is null or undefined. */
  readonly dispose: Reg;
}

/**
 * Lowers the call of a resource's dispose method. If the method throws, its error is thrown with the body's error as
 * `suppressed`.
 */
function lowerDisposal(
  l: Lowering,
  { value, dispose }: Resource,
  finalizer: Finalizer,
  span: Span,
): void {
  const mark = l.code.mark();
  const done = l.code.label();
  const onThrow = l.code.label();
  const error = l.code.temp();
  l.code.jumpOn('jumpIfNot', dispose, done, span);
  l.code.within({ handler: onThrow, error }, () => {
    const dst = l.code.temp();
    l.code.emit({ op: 'call', dst, callee: dispose, receiver: value, args: [] }, span);
  });
  l.code.jump(done, span);
  l.code.bind(onThrow);
  finalizer.whenThrown(span, (suppressed) => {
    l.code.intrinsic('suppressed', [error, suppressed], span, error);
  });
  l.code.emit({ op: 'throw', src: error }, span);
  l.code.bind(done);
  l.code.release(mark);
}
