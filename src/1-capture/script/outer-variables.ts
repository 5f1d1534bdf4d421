import type { VariablePlace } from '../../vm/bytecode/frame.ts';
import type { OuterBinding } from './binding.ts';

/**
 * A variable outside of captured functions. Every scope has its own view of a variable, and effects need to know
 * whether two views refer to the same variable. The engine doesn't expose the identity of variables, so it is tested: a
 * value is written through one view, read through the other, and restored. That is not observable: plain variables have
 * no setters, and no other code runs in between.
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
      return false; // the other view is uninitialized, so it refers to another variable
    } finally {
      this.#write(before);
    }
  }
}

/**
 * All variables written so far. A variable may have other names elsewhere (imports, minified text), and closures
 * created at one location have separate variables, so only a test can identify them.
 */
let variables: WeakRef<OuterVariable>[] = [];

/** Returns the variable behind a view, if it has been written. */
export function knownVariable(read: () => unknown): VariablePlace | undefined {
  for (const reference of variables) {
    const variable = reference.deref();
    if (variable?.isReadBy(read)) return variable;
  }
  return undefined;
}

/** Returns the variable behind a view that is about to be written; undefined if writing it would throw. */
export function writtenVariable(
  binding: OuterBinding,
  read: () => unknown,
  write: (value: unknown) => void,
): VariablePlace | undefined {
  if (!isAssignable(binding)) return undefined;
  const known = knownVariable(read);
  if (known) return known;
  try {
    write(read());
  } catch {
    return undefined; // uninitialized
  }
  const variable = new OuterVariable(read, write);
  variables = variables.filter((each) => each.deref());
  variables.push(new WeakRef(variable));
  return variable;
}

/** Excludes parameters that alias elements of sloppy `arguments`: two locations of one value. */
const isAssignable = ({ kind, scope }: OuterBinding): boolean =>
  !['const', 'import', 'namespace', 'self'].includes(kind) && !scope.aliasesArguments;
