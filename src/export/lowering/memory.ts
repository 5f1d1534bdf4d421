import { ArgumentError } from '../../../runtime/errors/errors.ts';

/** Memory of a program: its elements after the writes so far. */
export class Memory<V> {
  #current: V;
  #version = 0;
  /** Other memories that may be this one, depending on data: a result of a branch or loop, and its possible sources. */
  readonly #maybeSame = new Set<Memory<V>>();
  /** Whether one of these was written since. */
  #isUnknown = false;

  constructor(value: V) {
    this.#current = value;
  }

  get version(): number {
    return this.#version;
  }

  /** The elements. Throws ArgumentError if it is data-dependent whether a write to another memory changed this one. */
  get current(): V {
    if (!this.#isUnknown) return this.#current;
    throw new ArgumentError({
      what: 'export: a tensor that may share the memory of another one that was written',
      given:
        'a write in place to a result of a branch or loop, or to a tensor that it may have returned',
      expected: 'writes to memory that no branch or loop has returned',
      remedy: 'return a copy: y.clone()',
    });
  }

  write(value: V): void {
    this.#current = value;
    this.#version++;
    for (const other of this.#maybeSame) {
      other.#isUnknown = true;
      other.#version++;
    }
  }

  /** The memories that this one may be, including itself. */
  maybe(): ReadonlySet<Memory<V>> {
    return new Set([this, ...this.#maybeSame]);
  }

  linkWith(others: Iterable<Memory<V>>): void {
    for (const other of new Set([...others].flatMap((each) => [...each.maybe()]))) {
      if (other === this) continue;
      this.#maybeSame.add(other);
      other.#maybeSame.add(this);
    }
  }
}
