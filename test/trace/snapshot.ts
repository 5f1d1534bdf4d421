/** What a run left behind, as data that two worlds can be compared by: values, identities, gradients. */

import { Tensor } from '../../src/index.ts';

/** Numbers by their bits, so that NaN, -0 and every rounding count. */
function bitsOf(tensor: Tensor): string {
  const data = tensor.dataSync();
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return Buffer.from(bytes).toString('hex');
}

const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;

/**
 * Describes values so that equal descriptions mean: the same shape of objects, the same sharing and
 * cycles among them, the same bits in the tensors.
 */
export function describeValues(values: readonly unknown[]): unknown {
  const ids = new Map<object, number>();
  const describe = (value: unknown): unknown => {
    if (typeof value === 'symbol') return value.toString();
    if (typeof value === 'bigint') return `${value}n`;
    if (Object.is(value, -0)) return '-0';
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
    const known = ids.get(value);
    if (known !== undefined) return `same as #${known}`;
    ids.set(value, ids.size);
    const id = `#${ids.size - 1}`;
    if (value instanceof Tensor) return { id, ...describeTensor(value, describe) };
    if (typeof value === 'function') return { id, function: value.name };
    if (value instanceof Error) return { id, ...describeError(value), own: ownOf(value) };
    if (ArrayBuffer.isView(value)) return { id, view: value.constructor.name, data: String(value) };
    // Past the methods of a class.
    const content =
      value instanceof Map
        ? { map: [...mapEntries.call(value)].map((entry) => entry.map(describe)) }
        : value instanceof Set
          ? { set: [...setValues.call(value)].map(describe) }
          : {};
    const prototype = Object.getPrototypeOf(value) as object | null;
    return {
      id,
      ...content,
      class: prototype?.constructor?.name ?? 'null',
      entries: ownOf(value),
    };
  };
  // Entries, not an object: their order counts, and holes of arrays have none. The frames of an error and its place,
  // which ends its message, are other ones.
  const ownOf = (value: object) =>
    Reflect.ownKeys(value).map((key) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key)!;
      if (value instanceof Error && (key === 'stack' || key === 'message')) return [key];
      return [String(key), 'value' in descriptor ? describe(descriptor.value) : 'accessor'];
    });
  return values.map(describe);
}

function describeTensor(tensor: Tensor, describe: (value: unknown) => unknown): object {
  const { dtype, shape, disposed, requiresGrad, isLeaf, isContiguous } = tensor;
  if (disposed) return { tensor: dtype, shape: [...shape], disposed };
  const gradient = tensor.grad ? { grad: describe(tensor.grad) } : {};
  const meta = { tensor: dtype, shape: [...shape], requiresGrad, isLeaf, isContiguous };
  return { ...meta, bits: bitsOf(tensor), ...gradient };
}

/** Type and message; the line with the place differs where a stack trace told it. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { thrown: describeValues([error]) };
  const message = error.message.replace(/^\s*at: .*$/gm, '  at:');
  return { error: error.constructor.name, message };
}
