/** Formats tensors as text by PyTorch's rules: 4 digits, 80 columns, long tensors shortened. */

import { type DType, dtypes } from '../spec/dtype.ts';
import { contiguousStrides, type Shape } from '../spec/shape.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { edgeItems, type ShownValues, shownValues, shownValuesAsync } from './shown-values.ts';

const precision = 4;
const lineWidth = 80;
const prefix = 'tensor(';

type Numbers = ArrayLike<number>;

/** The notation shared by all numbers of a tensor, and the width of the widest. */
interface NumberFormat {
  readonly width: number;
  readonly write: (value: number) => string;
}

/** Formats an exponent as C does, with at least two digits. */
function scientific(value: number): string {
  return value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');
}

function special(value: number): string | null {
  if (Number.isNaN(value)) return 'nan';
  return Number.isFinite(value) ? null : value > 0 ? 'inf' : '-inf';
}

function formatOf(values: readonly number[], dtype: DType): NumberFormat {
  const widest = (write: (value: number) => string, over = values) =>
    over.reduce((width, value) => Math.max(width, write(value).length), 1);
  if (!dtypes[dtype].floating) {
    const write = dtype === 'bool' ? (value: number) => (value ? 'true' : 'false') : String;
    return { write, width: widest(write) };
  }
  const finite = values.filter((value) => Number.isFinite(value) && value !== 0);
  const sizes = finite.map(Math.abs);
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  const smallest = sizes.reduce((a, b) => Math.min(a, b), Infinity);
  const whole = finite.every(Number.isInteger);
  const spread = finite.length > 0 && (largest / smallest > 1000 || largest > 1e8);
  const plain = (value: number) => (whole ? `${value.toFixed(0)}.` : value.toFixed(precision));
  const isScientific = spread || (!whole && smallest < 1e-4);
  const write = (value: number) =>
    special(value) ?? negativeZero(value) + (isScientific ? scientific(value) : plain(value));
  return { write, width: widest(write, finite.length > 0 ? finite : []) };
}

const negativeZero = (value: number): string => (Object.is(value, -0) ? '-' : '');

/** Returns the indices of the printed entries of a dimension; null marks the omitted ones. */
function entriesOf(size: number, cut: boolean): readonly (number | null)[] {
  const all = Array.from({ length: size }, (_, i) => i);
  return cut ? [...all.slice(0, edgeItems), null, ...all.slice(edgeItems)] : all;
}

class TensorText {
  readonly #data: Numbers;
  readonly #shape: Shape;
  readonly #cut: readonly boolean[];
  readonly #strides: readonly number[];
  readonly #format: NumberFormat;

  constructor({ data, shape, cut }: ShownValues, dtype: DType) {
    this.#data = data;
    this.#shape = shape;
    this.#cut = cut;
    this.#strides = contiguousStrides(shape);
    this.#format = formatOf(Array.from(data), dtype);
  }

  #number(at: number): string {
    return this.#format.write(this.#data[at]!).padStart(this.#format.width);
  }

  write(dim = 0, start = 0, indent = prefix.length): string {
    const rank = this.#shape.length - dim;
    if (rank === 0) return this.#number(start);
    const entries = entriesOf(this.#shape[dim]!, this.#cut[dim]!);
    const step = this.#strides[dim]!;
    if (rank === 1) {
      return this.#row(
        entries.map((i) => (i === null ? ' ...' : this.#number(start + i * step))),
        indent,
      );
    }
    const parts = entries.map((i) =>
      i === null ? '...' : this.write(dim + 1, start + i * step, indent + 1),
    );
    return `[${parts.join(`,${'\n'.repeat(rank - 1)}${' '.repeat(indent + 1)}`)}]`;
  }

  #row(entries: readonly string[], indent: number): string {
    const perLine = Math.max(1, Math.floor((lineWidth - indent) / (this.#format.width + 2)));
    const lines: string[] = [];
    for (let i = 0; i < entries.length; i += perLine) {
      lines.push(entries.slice(i, i + perLine).join(', '));
    }
    return `[${lines.join(`,\n${' '.repeat(indent + 1)}`)}]`;
  }
}

/**
 * Returns the device and the dtype, unless the printed numbers imply it: int32, float32 and bool are the defaults
 * of `tensor()`.
 */
function suffixesOf(tensor: Tensor, hasValues: boolean): string[] {
  const { dtype, device, shape } = tensor;
  const isEmpty = tensor.numel() === 0;
  const told = isEmpty ? ['float32'] : ['float32', 'int32', 'bool'];
  const suffixes: string[] = [];
  if (device.name !== 'cpu') suffixes.push(`device='${device.name}'`);
  if (!hasValues || (isEmpty && shape.length !== 1)) suffixes.push(`size=[${shape.join(', ')}]`);
  if (!hasValues || !told.includes(dtype)) suffixes.push(`dtype=${dtype}`);
  if (tensor.disposed) suffixes.push('disposed');
  const node = tensor.gradEdge?.node;
  if (node) suffixes.push(`gradFn=<${node.name}>`);
  else if (tensor.requiresGrad) suffixes.push('requiresGrad=true');
  return suffixes;
}

/** Appends suffixes to the last line while they fit, then on new lines. */
function withSuffixes(text: string, suffixes: readonly string[]): string {
  let result = text;
  let lastLine = text.length - text.lastIndexOf('\n') + 1;
  for (const suffix of suffixes) {
    if (lastLine + suffix.length + 2 > lineWidth) {
      result += `,\n${' '.repeat(prefix.length)}${suffix}`;
      lastLine = prefix.length + suffix.length;
    } else {
      result += `, ${suffix}`;
      lastLine += suffix.length + 2;
    }
  }
  return `${result})`;
}

function formatted(tensor: Tensor, shown: ShownValues | null): string {
  const text = (values: ShownValues) =>
    values.data.length === 0 ? '[]' : new TensorText(values, tensor.dtype).write();
  const values = shown ? text(shown) : '...';
  return withSuffixes(prefix + values, suffixesOf(tensor, shown !== null));
}

/** Formats the values if the device can be read synchronously; otherwise `...` and the metadata. */
export function formatTensor(tensor: Tensor): string {
  if (!tensor.holder || tensor.device.kind !== 'cpu') return formatted(tensor, null);
  return formatted(tensor, shownValues(tensor));
}

/** Like `formatTensor`, but also reads devices that can only be read asynchronously. */
export async function formatTensorAsync(tensor: Tensor): Promise<string> {
  if (!tensor.holder || tensor.device.kind === 'meta') return formatted(tensor, null);
  return formatted(tensor, await shownValuesAsync(tensor));
}
