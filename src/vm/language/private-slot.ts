import type { PrivateAccess } from '../bytecode/frame.ts';

/** A private field of an object as a property: reads and writes of `value` go to the field. */
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
   * Returns whether another access refers to the same field: writes through one, reads through the other, and
   * restores the value. That is not observable, since fields have no setters.
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
