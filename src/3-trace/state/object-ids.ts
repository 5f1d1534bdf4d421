const ids = new WeakMap<object, number>();
let nextId = 0;

/** A number of its own for each object. */
export function idOf(object: object): number {
  let id = ids.get(object);
  if (id === undefined) {
    id = nextId++;
    ids.set(object, id);
  }
  return id;
}
