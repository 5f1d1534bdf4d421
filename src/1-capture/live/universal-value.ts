const elementLimit = 64; // destructuring reads as many as it names; a rest element reads all

/**
 * A valid argument for any parameter: it has every property, and can be called, constructed and iterated, so that
 * no default value, pattern or coercion in a parameter list runs user code.
 */
export const universalValue: object = new Proxy(() => {}, {
  get: (_target, key) => {
    if (key === Symbol.toPrimitive) return () => 'universal';
    if (key === Symbol.iterator) return elements;
    return universalValue;
  },
  set: () => true,
  has: () => true,
  ownKeys: () => [],
  getOwnPropertyDescriptor: () => undefined,
  apply: () => universalValue,
  construct: () => universalValue,
});

function* elements(): Generator<object> {
  for (let i = 0; i < elementLimit; i++) yield universalValue;
}
