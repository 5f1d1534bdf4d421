/** Random items of an index, and the elements that they name by PyTorch's rules. */

import fc from 'fast-check';
import { type IndexItem, slice } from '../../../runtime/ops/advanced-indexing/advanced-index.ts';
import { tensor } from '../eager.ts';
import { indices } from './reference.ts';

/** What an item is in the test's own words: places in a dimension of its size. */
type Choice =
  /** As a tensor of one number, it selects like a number. */
  | { readonly kind: 'number'; readonly at: number; readonly isTensor: boolean }
  | { readonly kind: 'slice'; readonly start: number; readonly end: number; readonly step: number }
  | { readonly kind: 'new' }
  | { readonly kind: 'tensor'; readonly places: readonly number[]; readonly column: boolean };

export const choice: fc.Arbitrary<Choice> = fc.oneof(
  fc.record({ kind: fc.constant('number' as const), at: fc.nat(3), isTensor: fc.boolean() }),
  fc.record({
    kind: fc.constant('slice' as const),
    start: fc.integer({ min: -4, max: 4 }),
    end: fc.integer({ min: -4, max: 5 }),
    step: fc.integer({ min: 1, max: 3 }),
  }),
  fc.constant({ kind: 'new' as const }),
  fc.record({
    kind: fc.constant('tensor' as const),
    places: fc.array(fc.integer({ min: -3, max: 2 }), { minLength: 2, maxLength: 2 }),
    column: fc.boolean(),
  }),
);

export const sizes = [3, 4, 3];

export function itemOf(own: Choice, size: number): IndexItem {
  switch (own.kind) {
    case 'number': {
      const at = Math.min(own.at, size - 1);
      return own.isTensor ? tensor(at, { dtype: 'int32' }) : at;
    }
    case 'slice':
      return slice(own.start, own.end, own.step);
    case 'new':
      return null;
    case 'tensor': {
      const index = tensor(Int32Array.from(own.places));
      return own.column ? index.reshape([2, 1]) : index;
    }
  }
}

/** Places that a slice names, by Python's rule. */
function range({ start, end, step }: Choice & { kind: 'slice' }, size: number): number[] {
  const clip = (i: number) => Math.min(size, Math.max(0, i < 0 ? i + size : i));
  const places: number[] = [];
  for (let i = clip(start); i < clip(end); i += step) places.push(i);
  return places;
}

/** Every element of the result as the element of x it is, and the shape, by PyTorch's rules. */
export function expectedIndex(choices: readonly Choice[]): { shape: number[]; elements: number[] } {
  let dim = 0;
  // Axes of the result before index tensors are brought together.
  const axes: { places: readonly number[]; from: number | null; tensor?: Choice }[] = [];
  const fixed = new Map<number, number>();
  for (const own of choices) {
    if (own.kind === 'new') axes.push({ places: [0], from: null });
    else {
      const size = sizes[dim]!;
      if (own.kind === 'number') fixed.set(dim, Math.min(own.at, size - 1));
      else if (own.kind === 'slice') axes.push({ places: range(own, size), from: dim });
      else axes.push({ places: own.places, from: dim, tensor: own });
      dim++;
    }
  }
  for (; dim < sizes.length; dim++) {
    axes.push({ places: Array.from({ length: sizes[dim]! }, (_, i) => i), from: dim });
  }
  const tensorAxes = axes.flatMap((axis, i) => (axis.tensor ? [i] : []));
  const columns = tensorAxes.map((i) => (axes[i]!.tensor as Choice & { column: boolean }).column);
  const common =
    columns.length === 0 ? [] : columns.some((c) => c) ? [2, columns.every((c) => c) ? 1 : 2] : [2];
  const first = tensorAxes[0] ?? 0;
  const adjacent = tensorAxes.every((i, k) => i === first + k);
  const before = axes.slice(0, adjacent ? first : 0).filter((axis) => !axis.tensor);
  const rest = axes.filter((axis) => !axis.tensor && !before.includes(axis));
  const shape = [
    ...before.map(({ places }) => places.length),
    ...common,
    ...rest.map(({ places }) => places.length),
  ];
  const elements = indices(shape).map((out) => {
    const at = new Map(fixed);
    before.forEach(({ places, from }, k) => {
      if (from !== null) at.set(from, places[out[k]!]!);
    });
    const chosen = out.slice(before.length, before.length + common.length);
    tensorAxes.forEach((i, k) => {
      const place = columns[k] ? chosen[0]! : chosen.at(-1)!;
      const given = axes[i]!.places[place]!;
      const from = axes[i]!.from!;
      at.set(from, given < 0 ? given + sizes[from]! : given);
    });
    const tail = out.slice(before.length + common.length);
    rest.forEach(({ places, from }, k) => {
      if (from !== null) at.set(from, places[tail[k]!]!);
    });
    return sizes.reduce((total, size, d) => total * size + at.get(d)!, 0);
  });
  return { shape, elements };
}

export const valid = (choices: readonly Choice[]) =>
  choices.filter(({ kind }) => kind !== 'new').length <= sizes.length;
