/** The engine's messages for objects without a private name. */

/** A private name as described in messages. */
interface NamedElement {
  readonly description: string;
  /** Describes the objects that have it, as V8 does: `an instance of class A`. */
  readonly owner: string;
  /** Null or undefined for a field. */
  readonly shared: object | null | undefined;
}

const attempts = {
  read: { nullish: ['read', 'reading'], of: ['read', 'from'] },
  write: { nullish: ['set', 'setting'], of: ['write', 'to'] },
} as const;

/** `value`: undefined and null have their own messages; any other value may be any object. */
export function privateFailure(
  attempt: keyof typeof attempts,
  value: unknown,
  { description, owner, shared }: NamedElement,
): string {
  const { nullish, of } = attempts[attempt];
  if (value === undefined || value === null) {
    // Methods and accessors are read from an internal slot that the engine names after the class.
    if (shared) return `Cannot read properties of ${value} (reading '${owner.split(' ').at(-1)}')`;
    return `Cannot ${nullish[0]} properties of ${value} (${nullish[1]} '${description}')`;
  }
  if (shared) return `Receiver must be ${owner}`;
  return `Cannot ${of[0]} private member ${description} ${of[1]} an object whose class did not declare it`;
}
