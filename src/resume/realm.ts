/**
 * What a realm of its own needs to run bytecode: this file and what it imports is loaded in the realm, so
 * that the objects, functions and errors that instructions make are the realm's.
 */

import type { Code } from '../bytecode/code.ts';
import { activate, closureOf } from './function-of.ts';
import { globalScope } from './global-scope.ts';
import { type Execution, machines } from './machine.ts';
import { apply, defineProperty, descriptor } from './primordials.ts';

/** Runs a script's code; its global names are declared already. */
export function runScript(code: Code, execution: Execution): unknown {
  showSources();
  const closure = { code, scope: globalScope(), cells: [] };
  return machines(execution)(code)(activate(closure, globalThis, []));
}

/** Functions show the text that they were written with, as native ones do. */
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
