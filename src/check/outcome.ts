import { DynamicTensor } from '../../runtime/device/dynamic-tensor.ts';
import { type ListItem, TensorList } from '../../runtime/device/tensor-list.ts';
import { contiguousMeta, formatSpec } from '../../runtime/device/tensor-meta.ts';
import { type DType, dtypes, type TypedArray } from '../../runtime/spec/dtype.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { Images } from './images.ts';
import type { Reading } from './reading.ts';

/**
 * The observable outcome of a run, in memory of its own: its results, its inputs afterwards, or gradients; or the
 * error that it threw.
 */
export interface Outcome {
  readonly values: readonly (ShownValue | null)[];
  readonly error: unknown;
}

interface ShownValue {
  /** `output 0`, `input 2 after the run`, `gradient of input 1`. */
  readonly name: string;
  readonly tensor: Tensor;
  readonly requiresGrad: boolean;
  /** The index of the first value that shares its memory. */
  readonly shares: number;
}

export interface NamedTensor {
  readonly name: string;
  readonly tensor: Tensor | null;
  readonly requiresGrad: boolean;
}

/** Copies the observable outcome of a run, so that later writes don't change it. */
export function outcomeOf(observed: readonly NamedTensor[], error: unknown = null): Outcome {
  const named = observed.flatMap(plainTensors);
  const images = new Images(named.map(({ tensor }) => tensor));
  const copies = images.make();
  images.dispose();
  const holders = named.map(({ tensor }) => tensor?.holder ?? null);
  // Handles on parts of lists were created for this copy.
  const tensors = new Set(observed.map(({ tensor }) => tensor));
  for (const { tensor } of named) if (tensor && !tensors.has(tensor)) tensor.dispose();
  return {
    error,
    values: named.map(({ name, tensor, requiresGrad }, i) => {
      const copied = copies[i];
      if (!tensor || !copied) return null;
      return { name, tensor: copied, requiresGrad, shares: holders.indexOf(tensor.holder) };
    }),
  };
}

/** Returns a list's elements, a tensor of data-dependent size in its current size, or any other tensor itself. */
function plainTensors(named: NamedTensor): readonly NamedTensor[] {
  const { name, tensor, requiresGrad } = named;
  const holder = tensor?.holder;
  if (holder instanceof TensorList) {
    return holder.items.map((item, i) => ({
      name: `${name}[${i}]`,
      tensor: item && partOf(tensor!, tensor!.shape.slice(1), item),
      requiresGrad,
    }));
  }
  if (holder instanceof DynamicTensor) {
    return [{ name, tensor: partOf(tensor!, holder.shape, holder.data), requiresGrad }];
  }
  return [named];
}

/** A handle on contiguous elements of a holder. */
function partOf({ dtype, device }: Tensor, shape: Shape, { holder, offset }: ListItem): Tensor {
  const meta = contiguousMeta({ dtype, shape }, device);
  return new Tensor({ ...meta, offset }, holder.retain());
}

export function disposeOutcome({ values }: Outcome): void {
  for (const value of values) value?.tensor.dispose();
}

export interface Difference {
  /** The name of the differing value: `output 0, f32[2,3]`. */
  readonly of: string;
  readonly given: string;
  readonly expected: string;
}

/** How far elements may differ, in units in the last place of float32; 0 for not at all. */
type Ulps = number;

/** A GPU's kernels may round differently in a fused or reordered program. */
function ulpsOn({ values }: Outcome): Ulps {
  return values.some((value) => value?.tensor.device.kind === 'gpu') ? 64 : 0;
}

/** Returns the first difference between the compiled program's outcome and the reference's. */
export function* compare(actual: Outcome, expected: Outcome): Reading<Difference | null> {
  const errors = compareErrors(actual.error, expected.error);
  if (errors || expected.error !== null) return errors;
  const ulps = ulpsOn(expected);
  for (let i = 0; i < expected.values.length; i++) {
    const [a, b] = [actual.values[i] ?? null, expected.values[i] ?? null];
    const other = compareForms(a, b);
    if (other || !a || !b) {
      if (other) return other;
      continue;
    }
    const [mine, theirs] = yield [a.tensor, b.tensor];
    const found = compareElements(b, mine!, theirs!, ulps);
    if (found) return found;
  }
  return null;
}

function compareErrors(actual: unknown, expected: unknown): Difference | null {
  const [given, expectedName] = [nameOfError(actual), nameOfError(expected)];
  return given === expectedName ? null : { of: 'the run', given, expected: expectedName };
}

function nameOfError(error: unknown): string {
  if (error === null) return 'no exception';
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.split('\n')[0]!;
}

function compareForms(a: ShownValue | null, b: ShownValue | null): Difference | null {
  if (!a || !b) {
    if (a === b) return null;
    const [given, expected] = [a, b].map((value) => (value ? 'a tensor' : 'none'));
    return { of: (a ?? b)!.name, given: given!, expected: expected! };
  }
  const of = `${b.name}, ${formatSpec(b.tensor)}`;
  const [layout, expected] = [layoutOf(a.tensor), layoutOf(b.tensor)];
  if (layout !== expected) return { of, given: layout, expected };
  if (a.requiresGrad !== b.requiresGrad) {
    return { of, given: `requiresGrad ${a.requiresGrad}`, expected: `${b.requiresGrad}` };
  }
  if (a.shares !== b.shares) {
    return { of, given: `memory of value ${a.shares}`, expected: `memory of value ${b.shares}` };
  }
  return null;
}

function compareElements(
  { name, tensor }: ShownValue,
  mine: TypedArray,
  theirs: TypedArray,
  ulps: Ulps,
): Difference | null {
  const at = firstDifference(tensor.dtype, mine, theirs, ulps);
  if (at < 0) return null;
  return {
    of: `${name}, ${formatSpec(tensor)}, element ${indexText(at, tensor.shape)}`,
    given: String(mine[at]),
    expected: String(theirs[at]),
  };
}

/** Strides of size-1 dimensions and of empty tensors are meaningless. */
function layoutOf({ dtype, shape, strides }: Tensor): string {
  const isEmpty = shape.includes(0);
  const meaningful = strides.map((stride, dim) => (isEmpty || shape[dim] === 1 ? '-' : stride));
  return `${dtype}[${shape.join()}] with strides [${meaningful.join()}]`;
}

function indexText(at: number, shape: readonly number[]): string {
  const index: number[] = [];
  let rest = at;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${index.join()}]`;
}

/** Index of the first element that differs, or −1. All NaNs are equal; zeros have signs. */
export function firstDifference(
  dtype: DType,
  a: TypedArray,
  b: TypedArray,
  ulps: Ulps = 0,
): number {
  if (!dtypes[dtype].floating) return a.findIndex((element, i) => element !== b[i]);
  if (dtype === 'float16' || dtype === 'bfloat16') {
    const infinity = dtype === 'float16' ? 0x7c00 : 0x7f80;
    const isNaN16 = (bits: number) => (bits & 0x7fff) > infinity;
    return a.findIndex((bits, i) => bits !== b[i] && !(isNaN16(bits) && isNaN16(b[i]!)));
  }
  return a.findIndex((x, i) => {
    const y = b[i]!;
    if (Object.is(x, y)) return false;
    return ulps === 0 || !isNear(x, y, ulps);
  });
}

/** Uses float32's spacing at the larger of the two, or at 1 for small ones, since sums on a GPU may cancel. */
function isNear(x: number, y: number, ulps: Ulps): boolean {
  if (x === y) return true;
  const scale = Math.max(1, Math.abs(x), Math.abs(y));
  return Math.abs(x - y) <= ulps * 2 ** -23 * scale;
}
