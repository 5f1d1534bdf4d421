/** Anything callable. */
// biome-ignore lint/complexity/noBannedTypes: that is what it says
export type AnyFunction = Function;

/**
 * Hands an object to a class that only adds a private field to it: invisible to the user, and a hundred
 * times faster than a WeakMap, which matters for functions made in a loop.
 */
export class Itself {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the subclass extends what is returned
    return object;
  }
}
