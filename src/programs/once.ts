/** Wraps `find` so that it runs on the first call only; later calls return the same value. */
export function once<Value>(find: () => Value): () => Value {
  let found: { readonly value: Value } | undefined;
  return () => {
    found ??= { value: find() };
    return found.value;
  };
}
