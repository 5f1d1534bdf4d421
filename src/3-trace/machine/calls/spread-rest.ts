/** Calls that spread an array of any length into the rest parameter of a user's function: `joined(...cache)`. */

import type { Code } from '../../../vm/bytecode/code.ts';
import { isFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import { isMadeByElements, manyTensors } from '../../values/varying-array.ts';
import { codeBehind } from '../../variables/code-of.ts';
import { specialized } from '../../variables/unions.ts';
import type { NewArrayVariable, Variable } from '../../variables/variable.ts';

interface SpreadArguments {
  /** The inlined function. */
  readonly code: Code;
  readonly args: readonly Variable[];
  /** The remaining arguments. */
  readonly rest: NewArrayVariable;
}

/** Returns undefined if the function is called with one argument for each element. */
export function spreadRest(
  t: Tracer,
  callee: Variable,
  variable: Variable,
): SpreadArguments | undefined {
  const array = specialized(variable);
  if (array.kind !== 'newArray' || !array.extended) return undefined;
  if (t.isInRegion || isMadeByElements(t)) return undefined;
  const { preceding: args } = array.extended;
  const code = codeBehind(t.codeOf, specialized(callee));
  if (!code || isFrameworkFile(code.source.file)) return undefined;
  if (code.isAsync || code.isGenerator || !takesTogether(code, args.length)) return undefined;
  return { code, args, rest: manyTensors(t, { ...array.extended, preceding: [] }) };
}

/** Returns whether all arguments after the first ones are the function's rest parameter. */
function takesTogether({ instructions }: Code, count: number): boolean {
  return instructions.every((each) => {
    if (each.op === 'arg') return each.index < count;
    if (each.op === 'restArgs') return each.from <= count;
    return each.op !== 'arguments';
  });
}
