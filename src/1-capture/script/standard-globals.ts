/**
 * Names that a function may read from the global object if nothing else is known about its environment. They exist in
 * every realm. `name`, `status` or `data` are globals of pages, too, but in user code they are far more likely to be
 * variables.
 */
export const standardGlobals: ReadonlySet<string> = new Set([
  ...['undefined', 'NaN', 'Infinity', 'globalThis', 'Object', 'Function', 'Boolean', 'Symbol'],
  ...['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError'],
  ...['TypeError', 'URIError', 'Number', 'BigInt', 'Math', 'Date', 'String', 'RegExp', 'Array'],
  ...['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array'],
  ...['Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array'],
  ...['BigUint64Array', 'Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'FinalizationRegistry'],
  ...['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Atomics', 'JSON', 'Promise', 'Reflect'],
  ...['Proxy', 'Intl', 'WebAssembly', 'Iterator', 'isNaN', 'isFinite', 'parseInt', 'parseFloat'],
  ...['decodeURI', 'decodeURIComponent', 'encodeURI', 'encodeURIComponent', 'escape', 'unescape'],
  ...['console', 'structuredClone', 'queueMicrotask', 'setTimeout', 'clearTimeout'],
]);

/** Non-writable, non-configurable properties of the global object, which can't change. */
export const frozenGlobals: ReadonlySet<string> = new Set(['undefined', 'NaN', 'Infinity']);
