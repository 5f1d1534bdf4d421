import { invariant } from '../../../runtime/errors/invariant.ts';
import { type Cell, type Closure, type Frame, newClosure } from '../bytecode/frame.ts';

/** Creates the closure of a `closure` instruction. Arrows capture the frame's `this` and `super`. */
export function innerClosure(
  frame: Frame,
  index: number,
  cells: readonly Cell[],
  home?: object,
): Closure {
  const { code, scope, homeObject, lexicalThis } = frame.closure;
  const inner = code.inner[index];
  invariant(inner, 'the inner code exists');
  const isArrow = inner.kind === 'arrow';
  return newClosure({
    code: inner,
    scope,
    cells,
    homeObject: isArrow ? homeObject : home,
    lexicalThis: isArrow
      ? {
          value: frame.thisValue,
          newTarget: frame.newTarget,
          closure: lexicalThis?.closure ?? frame.closure,
        }
      : undefined,
    fn: undefined,
  });
}
