/** The text of the functions around a module's plans. */

export const helpersText = `class ModuleError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}
const isObject = (value) => value !== null && typeof value === 'object';
const dataOf = (value) => (ArrayBuffer.isView(value) ? value : value?.data);
const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);
const own = (object, key) => (isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined);
const has = (object, key) => isObject(object) && Object.hasOwn(object, key);
const hasKeys = (object, keys) => isObject(object) && String(Object.keys(object)) === String(keys);
const hasShape = (value, shape) => dataOf(value)?.length === sizeOf(shape);
const define = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
const words = new Int32Array(2);
const single = new Float32Array(words.buffer);
const double = new Float64Array(words.buffer);
const wordOf = (value) => ((single[0] = value), words[0]);
const integer = (value) => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, value)) | 0;
const doubleWord = (value, at) => ((double[0] = value), words[at]);
function mismatch(name, value, dtype, shape) {
  const data = dataOf(value);
  const kind = data?.[Symbol.toStringTag];
  const type = types[dtype].name;
  const size = sizeOf(shape);
  const given = kind ? kind + ' of ' + data.length + ' elements' : String(value);
  const its = kind && value.shape ? ' [' + value.shape + ']' : '';
  const expected = type + ' of ' + size + ' elements, for ' + dtype + ' [' + shape + ']';
  const text = name + ': given ' + given + its + ', expected ' + expected;
  if (kind !== type) return new ModuleError('DTypeError', text);
  const fits = data.length === size && (!its || String(value.shape) === String(shape));
  return fits ? null : new ModuleError('ShapeError', text);
}
const overlap = (a, b) =>
  a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
function eachPlace(at, shape, strides, body) {
  for (let i = 0, size = sizeOf(shape); i < size; i++) {
    let place = at;
    for (let d = shape.length - 1, rest = i; d >= 0; d--) {
      place += (rest % shape[d]) * strides[d];
      rest = Math.floor(rest / shape[d]);
    }
    body(i, place);
  }
}
function read(view, at, dtype, shape, strides) {
  if (!strides) return { dtype, shape, data: view.slice(at, at + sizeOf(shape)) };
  const data = new types[dtype](sizeOf(shape));
  eachPlace(at, shape, strides, (i, place) => (data[i] = view[place]));
  return { dtype, shape, data };
}
function write(view, at, shape, strides, data) {
  if (!strides) view.set(data, at);
  else eachPlace(at, shape, strides, (i, place) => (view[place] = data[i]));
}
const types = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  bool: Uint8Array,
  uint8: Uint8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
};`;

/** The object that `instantiate` returns, using names that the module's own text defines. */
export const instanceText = `  const stateOf = (name) => state.find((each) => each.name === name);
  const take = ({ name, dtype, shape, view, at, strides }, value) => {
    const wrong = mismatch(name, value, dtype, shape);
    if (wrong) throw wrong;
    write(view, at, shape, strides, dataOf(value));
  };
  return {
    run(...args) {
      let wrong;
      for (const plan of plans) {
        const own = plan.misfit(args);
        if (!own) return plan.run(args);
        wrong ??= own;
      }
      throw wrong;
    },
    state: () =>
      Object.fromEntries(
        state.map(({ name, dtype, shape, view, at, strides }) => [name, read(view, at, dtype, shape, strides)]),
      ),
    variables: () => Object.fromEntries(variables.map(([name, index]) => [name, values[index]])),
    loadState(given) {
      for (const [name, value] of Object.entries(given)) {
        const variable = variables.find(([each]) => each === name);
        if (!variable && !stateOf(name)) {
          throw new ModuleError('ArgumentError', 'loadState: the module has no ' + name);
        }
        if (variable && typeof value !== typeof values[variable[1]]) {
          const kind = typeof values[variable[1]];
          throw new ModuleError('DTypeError', name + ': given ' + typeof value + ', expected ' + kind);
        }
        if (variable) values[variable[1]] = value;
        else take(stateOf(name), value);
      }
    },
    seed(value) {
      seed = value;
      offset = 0;
    },
  };`;
