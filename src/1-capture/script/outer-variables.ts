import type { VariablePlace } from '../../vm/bytecode/frame.ts';
import type { Binding } from './binding.ts';

/**
 * Finds the views that lead to one variable. Every scope has a view of its own, and an effect must know that two of
 * them show the same variable. The engine tells no identity of variables, so it is tried: what is written through one
 * view is looked for through the other, and put back. That is not observable: plain variables have no setters, and no
 * other code runs in between.
 */
class OuterVariable implements VariablePlace {
  readonly key = 'value';
  readonly #read: () => unknown;
  readonly #write: (value: unknown) => void;

  constructor(read: () => unknown, write: (value: unknown) => void) {
    this.#read = read;
    this.#write = write;
  }

  get object(): object {
    return this;
  }

  get value(): unknown {
    return this.#read();
  }

  set value(value: unknown) {
    this.#write(value);
  }

  isReadBy(read: () => unknown): boolean {
    const before = this.#read();
    const sentinel = {};
    try {
      this.#write(sentinel);
      return read() === sentinel;
    } catch {
      return false; // the other view is not initialised, so it shows another variable
    } finally {
      this.#write(before);
    }
  }
}

/**
 * All that were written so far. One may have other names elsewhere (imports, minified text), and
 * closures of one place have a variable each, so nothing but trying tells.
 */
let variables: WeakRef<OuterVariable>[] = [];

/** The variable behind a view, when it is one that was written. */
export function knownVariable(read: () => unknown): VariablePlace | undefined {
  for (const reference of variables) {
    const variable = reference.deref();
    if (variable?.isReadBy(read)) return variable;
  }
  return undefined;
}

/** The variable behind a view that is about to be written. Undefined where that would throw. */
export function writtenVariable(
  binding: Binding,
  read: () => unknown,
  write: (value: unknown) => void,
): VariablePlace | undefined {
  if (!isAssignable(binding)) return undefined;
  const known = knownVariable(read);
  if (known) return known;
  try {
    write(read());
  } catch {
    return undefined; // before its initialisation
  }
  const variable = new OuterVariable(read, write);
  variables = variables.filter((each) => each.deref());
  variables.push(new WeakRef(variable));
  return variable;
}

/** Elements of sloppy `arguments` are parameters as well: two places that are one. */
const isAssignable = ({ kind, scope }: Binding): boolean =>
  !['const', 'import', 'namespace', 'self'].includes(kind) && !scope.aliasesArguments;
