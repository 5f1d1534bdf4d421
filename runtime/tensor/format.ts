import { dtypes, type TypedArray } from './dtype.ts';
import { formatSpec } from './meta.ts';
import type { Tensor } from './tensor.ts';

/** Longer dimensions show this many entries at each end. */
const edgeItems = 3;
/** Tensors with more elements are shortened. */
const threshold = 1000;

function formatNumber(value: number, tensor: Tensor): string {
  if (tensor.dtype === 'bool') return value ? 'true' : 'false';
  if (!dtypes[tensor.dtype].floating || !Number.isFinite(value)) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e8)) return value.toExponential(4);
  return value.toFixed(4);
}

function formatLevel(tensor: Tensor, data: TypedArray, dim: number, start: number): string {
  const { shape } = tensor;
  if (dim === shape.length) return formatNumber(data[start]!, tensor);
  const size = shape[dim]!;
  const step = shape.slice(dim + 1).reduce((a, b) => a * b, 1);
  const shorten = tensor.size > threshold && size > 2 * edgeItems;
  const entry = (i: number) => formatLevel(tensor, data, dim + 1, start + i * step);
  const range = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => entry(from + i));
  const entries = shorten
    ? [...range(0, edgeItems), '…', ...range(size - edgeItems, size)]
    : range(0, size);
  const separator = dim === shape.length - 1 ? ', ' : `,\n${' '.repeat(dim + 8)}`;
  return `[${entries.join(separator)}]`;
}

/** Values with shape and dtype where the device can read at once, otherwise only the latter. */
export function formatTensor(tensor: Tensor): string {
  const facts = `${formatSpec(tensor)} on ${tensor.device.name}${tensor.requiresGrad ? ', requires gradient' : ''}`;
  if (!tensor.holder || tensor.device.kind !== 'cpu') {
    return `tensor(${tensor.disposed ? 'disposed ' : ''}${facts})`;
  }
  return `tensor(${formatLevel(tensor, tensor.dataSync(), 0, 0)}, ${facts})`;
}
