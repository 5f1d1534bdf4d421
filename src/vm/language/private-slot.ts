import type { PrivateAccess } from '../bytecode/frame.ts';

/** A private field of an object as a property: reading and writing `value` goes to the field. */
export class PrivateSlot {
  readonly #access: PrivateAccess;
  readonly #object: object;

  constructor(access: PrivateAccess, object: object) {
    this.#access = access;
    this.#object = object;
  }

  get value(): unknown {
    return this.#access.get(this.#object);
  }

  set value(value: unknown) {
    this.#access.set(this.#object, value);
  }

  /**
   * Whether another access shows the same field: what is written through one is looked for through the
   * other, and put back. Fields have no setters, so that is not observable.
   */
  isReadBy(access: PrivateAccess): boolean {
    const before = this.value;
    const sentinel = {};
    this.value = sentinel;
    try {
      return access.has(this.#object) && access.get(this.#object) === sentinel;
    } finally {
      this.value = before;
    }
  }
}
