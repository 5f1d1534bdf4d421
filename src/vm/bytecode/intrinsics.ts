/**
 * Steps of the language that are too rare for opcodes of their own: the `intrinsic` instruction applies
 * one to registers. All of them may throw and run user code. The number says how many operands it takes.
 */
export const intrinsics = {
  // Assignments that fail, names of the surroundings
  assignToConstant: 1, // name
  deleteFree: 1, // name
  deleteSuper: 0, // always fails
  // Class elements: object, key, function or value
  defineMethod: 3,
  defineGetter: 3,
  defineSetter: 3,
  defineField: 3,
  /** class, the function that makes an instance's fields */
  setFields: 2,
  /** Runs that function of the running constructor on a new instance. */
  initializeFields: 1,
  // Private names that the code itself declares
  newPrivateName: 2, // description, who has it
  getPrivate: 2, // object, name
  setPrivate: 3, // object, name, value
  hasPrivate: 2, // object, name
  addPrivate: 3, // object, name, value
  /** name, function: what every instance has */
  definePrivateMethod: 2,
  definePrivateGetter: 2,
  definePrivateSetter: 2,
  /** object, name: gives an object the method or accessor */
  brandPrivate: 2,
  // Private elements of a pre-existing class, which only its own constructor can add: in traces alone
  addOwnPrivate: 3, // object, name, value
  brandOwnPrivate: 2, // object, name of a method or accessor
  // super
  superBase: 0,
  getSuperOf: 3, // base, receiver, key
  setSuperOf: 4, // base, receiver, key, value
  superConstructor: 0,
  superConstruct: 2, // constructor, array of arguments
  /** what `this` was, the new instance: `super()` is called once */
  bindThis: 2,
  /** returned value, `this`: what a derived constructor returns */
  constructed: 2,
  /** returned value, `this`: what a base constructor gives to `new` */
  constructedBase: 2,
  // for await
  asyncIterator: 1, // iterable
  asyncNext: 1, // iterator
  asyncReturn: 1, // iterator
  iteratorResult: 1, // checks that it is an object
  // using
  disposer: 1, // value; gives its method, or undefined for null and undefined
  suppressed: 2, // error of that method, error that was on its way
} as const satisfies Record<string, number>;

export type Intrinsic = keyof typeof intrinsics;
