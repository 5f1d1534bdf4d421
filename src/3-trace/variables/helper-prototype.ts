type Mapped = { map?(f: (item: unknown) => unknown): object };

const mapped = ([].values() as Mapped).map?.((item) => item);

/**
 * The prototype of the results of `iterator.map(f)` and similar methods, with `next` and `return`; undefined in engines
 * without it.
 */
export const helperPrototype = mapped && (Object.getPrototypeOf(mapped) as object);
