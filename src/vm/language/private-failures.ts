/** The engine's words where an object doesn't have a private name. */

/** A private name as messages know it. */
interface NamedElement {
  readonly description: string;
  /** The objects that have it: `an instance of class A`. */
  readonly owner: string;
  /** Null or undefined: a field. */
  readonly shared: object | null | undefined;
}

const attempts = {
  read: { nullish: ['read', 'reading'], of: ['read', 'from'] },
  write: { nullish: ['set', 'setting'], of: ['write', 'to'] },
} as const;

/** `value`: undefined and null are distinguished from others; any other value may represent an object. */
export function privateFailure(
  attempt: keyof typeof attempts,
  value: unknown,
  { description, owner, shared }: NamedElement,
): string {
  const { nullish, of } = attempts[attempt];
  if (value === undefined || value === null) {
    // Methods and accessors are read from what the engine keeps under the name of the class.
    if (shared) return `Cannot read properties of ${value} (reading '${owner.split(' ').at(-1)}')`;
    return `Cannot ${nullish[0]} properties of ${value} (${nullish[1]} '${description}')`;
  }
  if (shared) return `Receiver must be ${owner}`;
  return `Cannot ${of[0]} private member ${description} ${of[1]} an object whose class did not declare it`;
}
