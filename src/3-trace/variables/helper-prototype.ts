type Mapped = { map?(f: (item: unknown) => unknown): object };

const mapped = ([].values() as Mapped).map?.((item) => item);

/**
 * The prototype of what `iterator.map(f)` and similar methods return, with `next` and `return`; undefined in engines
 * without them.
 */
export const helperPrototype = mapped && (Object.getPrototypeOf(mapped) as object);
