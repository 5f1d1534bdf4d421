/** Any function. */
// biome-ignore lint/complexity/noBannedTypes: any function
export type AnyFunction = Function;

/**
 * Returns an existing object from `super()`, so that a subclass can add a private field to it. That is invisible
 * to user code and a hundred times faster than a WeakMap, which matters for functions created in a loop.
 */
export class ReturnOverride {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the subclass extends the returned object
    return object;
  }
}
