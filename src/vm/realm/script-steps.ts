/**
 * The code that a separate realm needs to run bytecode: this file and its imports are loaded in the realm, so that
 * objects, functions and errors that instructions create belong to it.
 */

import type { Code } from '../bytecode/code.ts';
import { newClosure } from '../bytecode/frame.ts';
import { activate } from '../frames/activation.ts';
import { closureOf } from '../frames/function-of.ts';
import { Suspended } from '../frames/suspended.ts';
import { apply, defineProperty, descriptor } from '../language/primordials.ts';
import { type Execution, machines } from '../machine/machine.ts';
import { type GlobalName, globalScope } from './global-scope.ts';

/**
 * Prepares a script's code. `declared`: the names that it declares with `let`, `const` or `class`. Each call of
 * the returned function runs the script up to the next value for one of them, and returns that value; the last
 * call runs the rest.
 */
export function scriptSteps(
  code: Code,
  execution: Execution,
  declared: Readonly<Record<string, GlobalName>>,
): () => unknown {
  showSources();
  const closure = newClosure({
    code,
    scope: globalScope(declared),
    cells: [],
    homeObject: undefined,
    lexicalThis: undefined,
    fn: undefined,
  });
  const frame = activate(closure, globalThis, []);
  const machine = machines(execution)(code);
  return () => {
    const result = machine(frame);
    if (!Suspended.is(result)) return result;
    frame.pc++;
    return result.value;
  };
}

/** Makes functions print their source text, as native ones do. */
function showSources(): void {
  const native = Function.prototype.toString;
  const { toString: shown } = {
    toString(this: unknown): string {
      const closure = closureOf(this);
      if (!closure) return apply(native, this, []) as string;
      const { source, span } = closure.code;
      return source.text.slice(span.start, span.end);
    },
  };
  const fields = { value: shown, writable: true, enumerable: false, configurable: true };
  defineProperty(Function.prototype, 'toString', descriptor(fields));
}
