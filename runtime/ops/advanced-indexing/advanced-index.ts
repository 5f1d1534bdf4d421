/** Indexing x[…] with numbers, slices, new dimensions, masks and index tensors, by the rules of NumPy and PyTorch. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions, shown } from '../../options/expect-options.ts';
import { flag } from '../../options/option-kinds.ts';
import { broadcastShapes, type Shape, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { expand } from '../core/broadcast.ts';
import { fill_ } from '../in-place/filled.ts';
import { add_, copy_ } from '../in-place/in-place.ts';
import { nonzeroColumns } from '../indexing/data-dependent.ts';
import { expectIndices } from '../indexing/index-operands.ts';
import { indexed, indexedShape, indexReplaced } from '../indexing/indexing.ts';
import { stack } from '../movement/joining.ts';
import { permute, reshape, select, unsqueeze } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { sliceOf } from '../movement/views.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { where } from '../pointwise/comparison.ts';
import { expectOperand, expectTensors } from '../record/expect-tensors.ts';

/** A range of a dimension: `slice(start, end, step)`, or `{ start, end, step }`. */
export type SliceIndex =
  | { readonly start?: number | null; readonly end?: number | null; readonly step?: number }
  | readonly [start?: number | null, end?: number | null, step?: number | null];

/**
 * A number selects an entry, and a slice a range. null adds a dimension, and '...' represents all dimensions without an
 * item. A bool tensor is a mask over as many dimensions as it has, and an int32 tensor selects entries.
 */
export type IndexItem = number | null | '...' | SliceIndex | Tensor;

/** Returns Python's range `start:end:step`. */
export function slice(
  start: number | null = null,
  end: number | null = null,
  step: number | null = null,
): readonly [number | null, number | null, number | null] {
  return [start, end, step];
}

/** Checks indices passed from untyped JavaScript. */
function expectItems(op: string, items: readonly IndexItem[]): void {
  const wrong = Array.isArray(items) ? items.findIndex((item) => !isItem(item)) : 0;
  if (wrong < 0) {
    expectTensors(op, ...items.filter((item) => item instanceof Tensor));
    return;
  }
  const invalid: unknown = Array.isArray(items) ? items[wrong] : items;
  throw new ArgumentError({
    what: `${op}: not ${Array.isArray(items) ? 'an index' : 'a list of indices'}`,
    given: Array.isArray(items) ? `${shown(invalid)} as index ${wrong}` : shown(invalid),
    expected: "numbers, slice(start, end), int32 tensors, masks, null and '...'",
    remedy: Array.isArray(invalid)
      ? 'an array is a slice [start, end, step]; pass indices of several dimensions one by one: x.index(rows, columns)'
      : `one index per dimension: x.${op}(${op === 'index' ? '0, slice(1, 3)' : '[0, slice(1, 3)], value'})`,
  });
}

function isItem(item: unknown): boolean {
  if (item === null || item === '...' || isNumber(item)) return true;
  if (typeof item !== 'object') return false;
  if (Array.isArray(item)) return item.length <= 3 && item.every(isBound);
  return item instanceof Tensor || isRange(item);
}

const isBound = (bound: unknown): boolean =>
  bound === null || bound === undefined || isNumber(bound);

const isRange = (item: object): boolean => Object.keys(item).every((name) => rangeNames.has(name));
const rangeNames: ReadonlySet<string> = new Set(['start', 'end', 'step']);

const isMask = (item: IndexItem): item is Tensor => item instanceof Tensor && item.dtype === 'bool';

/** A view of `x` after all basic indices, and the index tensors with the dimensions they apply to. */
interface Plan {
  readonly base: Tensor;
  readonly tensors: readonly { readonly dim: number; readonly index: Tensor }[];
}

/** Returns the number of tensor dimensions that an item consumes. */
function consumed(item: IndexItem): number {
  if (item === null || item === '...') return 0;
  return isMask(item) ? item.rank : 1;
}

function withoutEllipsis(x: Tensor, items: readonly IndexItem[]): readonly IndexItem[] {
  const named = items.reduce<number>((count, item) => count + consumed(item), 0);
  if (named > x.rank || items.filter((item) => item === '...').length > 1) {
    throw new ArgumentError({
      what: 'index: more indices than dimensions',
      given: `${named} indices for ${formatSpec(x)}`,
      expected: `at most ${x.rank}, and at most one '...'`,
      remedy: 'leave the last ones out',
    });
  }
  const rest = new Array<IndexItem>(x.rank - named).fill([]);
  const at = items.indexOf('...');
  return at < 0 ? [...items, ...rest] : [...items.slice(0, at), ...rest, ...items.slice(at + 1)];
}

function planOf(x: Tensor, items: readonly IndexItem[]): Plan {
  let base = x;
  let dim = 0;
  const tensors: { dim: number; index: Tensor }[] = [];
  for (const item of withoutEllipsis(x, items)) {
    if (item === null) base = unsqueeze(base, dim++);
    else if (isNumber(item)) base = select(base, dim, item);
    else if (item instanceof Tensor) {
      const indices = isMask(item) ? maskIndices(base, dim, item) : [item];
      for (const index of indices) {
        expectIndices('index', index);
        tensors.push({ dim: dim++, index });
      }
    } else if (item !== '...') base = sliced(base, dim++, item);
  }
  return { base, tensors };
}

function sliced(x: Tensor, dim: number, item: SliceIndex): Tensor {
  const [start, end, step] = Array.isArray(item)
    ? (item as readonly (number | null)[])
    : [
        (item as { start?: number | null }).start,
        (item as { end?: number | null }).end,
        (item as { step?: number }).step,
      ];
  const whole = (start ?? 0) === 0 && (end ?? null) === null && (step ?? 1) === 1;
  return whole ? x : sliceOf(x, dim, start ?? null, end ?? null, step ?? 1);
}

function maskIndices(x: Tensor, dim: number, mask: Tensor): readonly Tensor[] {
  expectMask(x, dim, mask);
  return nonzeroColumns('index', mask);
}

function expectMask(x: Tensor, dim: number, mask: Tensor): void {
  const masked = x.shape.slice(dim, dim + mask.rank);
  if (mask.rank > 0 && sameShape(masked, mask.shape)) return;
  throw new ArgumentError({
    what: "index: the mask doesn't fit",
    given: `mask ${formatSpec(mask)} at dimension ${dim} of ${formatSpec(x)}`,
    expected: 'a mask with the sizes of the dimensions that it indexes',
    remedy: 'check the order of the dimensions',
  });
}

/** The index tensors, stacked, and the order of dimensions that makes the indexed ones adjacent. */
interface Joined {
  readonly base: Tensor;
  /** [number of index tensors, ...their common shape]. */
  readonly index: Tensor;
  readonly dim: number;
  /** The dimensions of the plan's base in the order of `base`. */
  readonly order: readonly number[];
}

function joined({ base, tensors }: Plan): Joined {
  const shape = tensors
    .map(({ index }) => index.shape)
    .reduce<Shape>((a, b) => broadcastShapes(a, b, 'index'), []);
  // As in PyTorch, an index of one number selects like a number: it doesn't separate the others.
  const wide = tensors.filter(({ index }) => index.rank > 0);
  const ordered = [...tensors.filter(({ index }) => index.rank === 0), ...wide];
  const index = stack(ordered.map(({ index }) => expand(index, shape)));
  const dims = ordered.map(({ dim }) => dim);
  const others = base.shape.map((_, d) => d).filter((d) => !dims.includes(d));
  const [first, last] = [wide[0]?.dim ?? 0, wide.at(-1)?.dim ?? 0];
  const separated = others.some((d) => d > first && d < last);
  // If other dimensions separate the indexed ones, those come first, as in NumPy.
  const before = separated ? [] : others.filter((d) => d < first);
  const order = [...before, ...dims, ...others.filter((d) => !before.includes(d))];
  const moved = order.some((d, i) => d !== i);
  return { base: moved ? permute(base, order) : base, index, dim: before.length, order };
}

/** `x[items]`: a view if there are only numbers, slices and null, else a copy. */
export function index(x: Tensor, ...items: IndexItem[]): Tensor {
  expectTensors('index', x);
  expectItems('index', items);
  const chosen = () => {
    const plan = planOf(x, items);
    if (plan.tensors.length === 0) return plan.base;
    const { base, index: places, dim } = joined(plan);
    return indexed(base, places, { dim, wraps: true });
  };
  return tidy(() => naming('index', chosen));
}

export interface IndexPutOptions {
  /** Adds to the existing values, accumulating at repeated indices. By default the last of repeated indices wins. */
  readonly accumulate?: boolean;
}

function replaced(plan: Plan, value: Tensor | number, accumulate: boolean): Tensor {
  const { base, index: places, dim, order } = joined(plan);
  const shape = indexedShape(base, places, dim);
  const source = isNumber(value) ? fullLike(base, value, { shape: [] }) : value;
  const values = expand(source, shape);
  const result = indexReplaced(base, places, values, accumulate, { dim, wraps: true });
  if (base === plan.base) return result;
  return permute(
    result,
    order.map((_, d) => order.indexOf(d)),
  );
}

/** Returns a copy of `x` with `x[items] = value`, or `+=`. Differentiable in both tensors. */
export function indexPut(
  x: Tensor,
  items: readonly IndexItem[],
  value: Tensor | number,
  options: IndexPutOptions = {},
): Tensor {
  return naming('indexPut', () => {
    expectTensors('indexPut', x);
    expectOperand('indexPut', value);
    expectItems('indexPut', items);
    expectOptions('indexPut', options, { accumulate: flag });
    const { accumulate = false } = options;
    return tidy(() => {
      const filled = accumulate ? null : filledWhere(x, items, value);
      if (filled) return filled;
      const plan = planOf(x, items);
      if (plan.base === x && plan.tensors.length > 0) return replaced(plan, value, accumulate);
      throw new ArgumentError({
        what: 'indexPut: not index tensors alone',
        given: `${items.length} indices`,
        expected: 'masks and int32 tensors; slices and numbers only with indexPut_',
        remedy: 'clone the tensor and use indexPut_ inside noGrad()',
      });
    });
  });
}

/**
 * Implements `x[mask] = value` for a single value for all selected entries, when no size depends on the mask.
 * Returns null otherwise.
 */
function filledWhere(
  x: Tensor,
  items: readonly IndexItem[],
  value: Tensor | number,
): Tensor | null {
  const [mask] = items;
  if (items.length !== 1 || !isMask(mask!)) return null;
  const entry = x.shape.slice(mask.rank);
  const content = entryOf(x, entry, value);
  if (!content) return null;
  expectMask(x, 0, mask);
  const test = reshape(mask, [...mask.shape, ...entry.map(() => 1)]);
  return where(test, content, x);
}

/** Returns the value of every selected entry; null if they differ or the value doesn't fit. */
function entryOf(x: Tensor, entry: Shape, value: Tensor | number): Tensor | null {
  if (isNumber(value)) return fullLike(x, value, { shape: [] });
  if (value.dtype !== x.dtype) return null;
  const { shape } = value;
  const isRepeated = shape.length === entry.length + 1 && shape[0] === 1;
  const own = isRepeated ? shape.slice(1) : shape;
  const fits =
    own.length <= entry.length &&
    own.every((size, i) => size === 1 || size === entry[entry.length - own.length + i]);
  return fits ? reshape(value, own) : null;
}

/** Performs `x[items] = value`, or `+=`, in place. */
export function indexPut_(
  x: Tensor,
  items: readonly IndexItem[],
  value: Tensor | number,
  options: IndexPutOptions = {},
): Tensor {
  expectTensors('indexPut_', x);
  expectOperand('indexPut_', value);
  expectItems('indexPut_', items);
  expectOptions('indexPut_', options, { accumulate: flag });
  const { accumulate = false } = options;
  naming('indexPut_', () =>
    tidy(() => {
      const filled = accumulate ? null : filledWhere(x, items, value);
      if (filled) {
        copy_(x, filled);
        return;
      }
      const plan = planOf(x, items);
      const { base, tensors } = plan;
      if (tensors.length > 0) copy_(base, replaced(plan, value, accumulate));
      else if (accumulate) add_(base, value);
      else if (isNumber(value)) fill_(base, value);
      else copy_(base, value);
    }),
  );
  return x;
}
