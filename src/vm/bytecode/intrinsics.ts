/**
 * Operations of the language that are too rare for their own opcodes: the `intrinsic` instruction applies one to
 * registers. All of them may throw and run user code. The number is the operand count.
 */
export const intrinsics = {
  // Failing assignments, and outer names
  assignToConstant: 1, // name
  deleteFree: 1, // name
  deleteSuper: 0, // always fails
  // Class elements: object, key, function or value
  defineMethod: 3,
  defineGetter: 3,
  defineSetter: 3,
  defineField: 3,
  /** class, field initializer */
  setFields: 2,
  /** Runs the field initializer of the running constructor on a new instance. */
  initializeFields: 1,
  // Private names that the code itself declares
  newPrivateName: 2, // description, the objects that have it
  getPrivate: 2, // object, name
  setPrivate: 3, // object, name, value
  hasPrivate: 2, // object, name
  addPrivate: 3, // object, name, value
  /** name, function: a method that every instance has */
  definePrivateMethod: 2,
  definePrivateGetter: 2,
  definePrivateSetter: 2,
  /** object, name: adds the method or accessor to an object */
  brandPrivate: 2,
  // Private elements of a pre-existing class, which only its own constructor can add: only in traces
  addOwnPrivate: 3, // object, name, value
  brandOwnPrivate: 2, // object, name of a method or accessor
  // super
  superBase: 0,
  getSuperOf: 3, // base, receiver, key
  setSuperOf: 4, // base, receiver, key, value
  superConstructor: 0,
  superConstruct: 2, // constructor, array of arguments
  /** old `this`, new instance: binds `this`; `super()` may be called only once */
  bindThis: 2,
  /** returned value, `this`: returns the result of a derived constructor */
  constructed: 2,
  /** returned value, `this`: returns the result of a base constructor */
  constructedBase: 2,
  // for await
  asyncIterator: 1, // iterable
  asyncNext: 1, // iterator
  asyncReturn: 1, // iterator
  iteratorResult: 1, // checks that it is an object
  // using
  disposer: 1, // value; returns its method, or undefined for null and undefined
  suppressed: 2, // error of that method, pending error
} as const satisfies Record<string, number>;

export type Intrinsic = keyof typeof intrinsics;
