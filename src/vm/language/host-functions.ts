/** Built-in functions of JavaScript: they run no tensor op unless they are given a function. */

type Holder = Readonly<Record<PropertyKey, unknown>>;

const holders: readonly unknown[] = [
  ...[Math, JSON, Reflect, Intl],
  ...[Object, Array, String, Number, Boolean, BigInt, Symbol, Date, RegExp],
  ...[Map, Set, WeakMap, WeakSet, ArrayBuffer, DataView, Error],
  ...[Intl.NumberFormat, Intl.DateTimeFormat],
  Object.getPrototypeOf(Int8Array),
];

const loose: readonly unknown[] = [
  ...[parseInt, parseFloat],
  ...['isNaN', 'isFinite'].map((name) => Reflect.get(globalThis, name) as unknown),
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array],
  ...[Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array],
];

let known: ReadonlySet<unknown> | undefined;

/** Whether the value is a built-in function that calls no other function unless it is given one. */
export function isHostFunction(value: unknown): boolean {
  known ??= new Set([...loose, ...holders.flatMap(functionsOf)]);
  return typeof value === 'function' && known.has(value);
}

function functionsOf(holder: unknown): unknown[] {
  const prototype =
    typeof holder === 'function' ? [(holder as { readonly prototype?: unknown }).prototype] : [];
  const found = [holder, ...prototype].flatMap((each) => methodsOf(each as Holder));
  return typeof holder === 'function' ? [holder, ...found] : found;
}

function methodsOf(holder: Holder): unknown[] {
  return Reflect.ownKeys(holder).flatMap((key) => {
    const { value } = Object.getOwnPropertyDescriptor(holder, key)!;
    return typeof value === 'function' && key !== 'constructor' ? [value] : [];
  });
}
