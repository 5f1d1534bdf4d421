/** Objects created by each run. */

/** Null denotes a hole. */
export interface MadeArray<Recipe> {
  readonly kind: 'array';
  readonly elements: readonly (Recipe | null)[];
}

export interface MadeObject<Recipe> {
  readonly kind: 'object';
  readonly entries: readonly (readonly [string, Recipe])[];
}

/** For a Set, key and value are the same; an element may be missing. */
export interface MadeCollection<Recipe> {
  readonly kind: 'collection';
  readonly type: 'Map' | 'Set';
  readonly entries: readonly (readonly [key: Recipe, value: Recipe])[];
}

/** An array whose elements are program outputs: one list for each leaf of an element. */
export interface MadeList<Element> {
  readonly kind: 'list';
  readonly outputs: readonly number[];
  readonly element: Element;
}

/** The leaf of an element that one list contains. */
export interface ListLeaf {
  readonly kind: 'leaf';
  readonly of: 'tensor' | 'number' | 'boolean';
}

/** Plain data objects. */
export type DataMake<Recipe> =
  | MadeArray<Recipe>
  | MadeObject<Recipe>
  | MadeCollection<Recipe>
  | MadeList<ListLeaf>;

/** Returns the recipes of the object's contents. */
export function partsOfData<Recipe>(make: DataMake<Recipe>): readonly Recipe[] {
  switch (make.kind) {
    case 'array':
      return make.elements.filter((element) => element !== null);
    case 'object':
      return make.entries.map(([, recipe]) => recipe);
    case 'collection':
      return make.entries.flat();
    case 'list':
      return [];
  }
}

/** Returns a plain data object with its recipes mapped. */
export function mapMake<From, To>(
  make: DataMake<From>,
  recipeOf: (recipe: From) => To,
): DataMake<To> {
  switch (make.kind) {
    case 'array': {
      const { elements } = make;
      return { kind: 'array', elements: elements.map((item) => item && recipeOf(item)) };
    }
    case 'object':
      return {
        kind: 'object',
        entries: make.entries.map(([key, recipe]) => [key, recipeOf(recipe)]),
      };
    case 'collection': {
      const { type, entries } = make;
      return {
        kind: 'collection',
        type,
        entries: entries.map(([key, value]) => [recipeOf(key), recipeOf(value)]),
      };
    }
    case 'list':
      return make;
  }
}

/** Compiles array elements to a function that appends them; a missing element leaves a hole. */
export function compileItems<Recipe, Values>(
  items: readonly (Recipe | null)[],
  compile: (recipe: Recipe) => (values: Values) => unknown,
  append: (array: unknown[], item: unknown) => void,
): (array: unknown[], values: Values) => void {
  const readers = items.map((item) => item && compile(item));
  return (array, values) => {
    for (const read of readers) {
      if (read) append(array, read(values));
      else array.length++;
    }
  };
}

/** Defines a property like object literals and class fields, without calling a setter, not even that of `__proto__`. */
export function defineData(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
