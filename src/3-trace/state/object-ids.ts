const ids = new WeakMap<object, number>();
let nextId = 0;

/** Returns a number that is unique to the object. */
export function idOf(object: object): number {
  let id = ids.get(object);
  if (id === undefined) {
    id = nextId++;
    ids.set(object, id);
  }
  return id;
}
