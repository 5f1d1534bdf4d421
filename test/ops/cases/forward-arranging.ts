/** Naive references of ops that move, join, choose and order elements. */

import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import type { Shape } from '../../../runtime/spec/shape.ts';
import { at, indices, type Nd, type Reference } from './reference.ts';

interface Case {
  readonly inputs: readonly {
    readonly shape: Shape;
    readonly dtype: DType;
    readonly range: readonly [low: number, high: number];
  }[];
  readonly attrs: Attrs;
  readonly reference: Reference;
}

type Index = readonly number[];

const float = (...shape: number[]) =>
  ({ shape, dtype: 'float32', range: [-2, 2] }) as const satisfies Case['inputs'][number];
/** Indices below `size`, and from −size on where they wrap. */
const places = (size: number, ...shape: number[]) =>
  ({ shape, dtype: 'int32', range: [0, size] }) as const satisfies Case['inputs'][number];
const wrapping = (size: number, ...shape: number[]) =>
  ({ shape, dtype: 'int32', range: [-size, size] }) as const satisfies Case['inputs'][number];

const replaced = (index: Index, dim: number, value: number) =>
  index.map((own, d) => (d === dim ? value : own));

/** The number of an index in row-major order. */
const flat = (shape: Shape, index: Index) =>
  shape.reduce((total, size, d) => total * size + index[d]!, 0);

/** Starts with `start` and calls `write` for each element of the source. */
function writing(
  shape: Shape,
  start: readonly number[],
  sourceShape: Shape,
  write: (out: number[], index: Index) => void,
): number[] {
  const out = shape.reduce((a, b) => a * b, 1) === start.length ? [...start] : [];
  for (const index of indices(sourceShape)) write(out, index);
  return out;
}

const zeros = ({ shape }: Nd) => new Array<number>(shape.reduce((a, b) => a * b, 1)).fill(0);

/** The element of `whole` that `index` names for an element of its own. */
const chosenBy = (index: Nd, dim: number) => (own: Index) => replaced(own, dim, at(index, own));

function scattered(
  base: readonly number[],
  whole: Nd,
  index: Nd,
  source: Nd,
  dim: number,
  add: boolean,
) {
  return writing(whole.shape, base, index.shape, (out, own) => {
    const to = flat(whole.shape, chosenBy(index, dim)(own));
    out[to] = at(source, own) + (add ? out[to]! : 0);
  });
}

/** [before, chosen, after] of an output index, and the index into the whole tensor it stands for. */
function entry(whole: Nd, index: Nd, dim: number, own: Index): number[] {
  const [count, ...chosen] = index.shape as [number, ...number[]];
  const middle = own.slice(dim, dim + chosen.length);
  const named = Array.from({ length: count }, (_, k) => at(index, [k, ...middle]));
  const wrapped = named.map((place, k) => (place < 0 ? place + whole.shape[dim + k]! : place));
  return [...own.slice(0, dim), ...wrapped, ...own.slice(dim + chosen.length)];
}

function entriesReplaced(
  base: readonly number[],
  whole: Nd,
  index: Nd,
  source: Nd,
  dim: number,
  add: boolean,
) {
  return writing(whole.shape, base, source.shape, (out, own) => {
    const to = flat(whole.shape, entry(whole, index, dim, own));
    out[to] = at(source, own) + (add ? out[to]! : 0);
  });
}

const sorted = (x: Nd, { dim, count, descending }: Attrs) => {
  const along = dim as number;
  const shape = replaced(x.shape, along, count as number);
  return indices(shape).map((index) => {
    const row = Array.from({ length: x.shape[along]! }, (_, k) => at(x, replaced(index, along, k)));
    row.sort((a, b) => (descending ? b - a : a - b));
    return row[index[along]!]!;
  });
};

export const arrangingReferences: Readonly<Record<string, readonly Case[]>> = {
  arange: [
    {
      inputs: [],
      attrs: { count: 5, start: -2, step: 0.75, dtype: 'float32' },
      reference: () => [-2, -1.25, -0.5, 0.25, 1],
    },
    {
      inputs: [],
      attrs: { count: 3, start: 7, step: -2, dtype: 'int32' },
      reference: () => [7, 5, 3],
    },
  ],
  cat: [
    {
      inputs: [float(2, 3), float(2, 1), float(2, 4)],
      attrs: { dim: 1, sizes: [3, 1, 4] },
      reference: (parts) =>
        [0, 1].flatMap((row) =>
          parts.flatMap((part) => {
            const columns = part.shape[1]!;
            return part.values.slice(row * columns, (row + 1) * columns);
          }),
        ),
    },
  ],
  flip: [
    {
      inputs: [float(2, 3, 4)],
      attrs: { dims: [0, 2] },
      reference: ([x]) => indices([2, 3, 4]).map(([i, j, k]) => at(x!, [1 - i!, j!, 3 - k!])),
    },
    {
      inputs: [places(9, 5)],
      attrs: { dims: [0] },
      reference: ([x]) => [...x!.values].reverse(),
    },
  ],
  roll: [
    {
      inputs: [float(2, 3, 4)],
      attrs: { dim: 1, shift: -5 },
      reference: ([x]) => indices([2, 3, 4]).map(([i, j, k]) => at(x!, [i!, (j! + 5) % 3, k!])),
    },
    {
      inputs: [places(9, 5)],
      attrs: { dim: 0, shift: 2 },
      reference: ([x]) => [3, 4, 0, 1, 2].map((i) => x!.values[i]!),
    },
    { inputs: [float(2, 0)], attrs: { dim: 1, shift: 1 }, reference: () => [] },
  ],
  place: [
    {
      inputs: [float(2, 2)],
      attrs: { shape: [3, 5], strides: [5, 2], offset: 6, value: 9 },
      reference: ([x]) =>
        writing([3, 5], new Array<number>(15).fill(9), [2, 2], (out, [i, j]) => {
          out[6 + i! * 5 + j! * 2] = at(x!, [i!, j!]);
        }),
    },
  ],
  placeInto: [
    {
      inputs: [float(3, 5), float(2, 2)],
      attrs: { strides: [5, 2], offset: 6 },
      reference: ([x, source]) =>
        writing([3, 5], [...x!.values], [2, 2], (out, [i, j]) => {
          out[6 + i! * 5 + j! * 2] = at(source!, [i!, j!]);
        }),
    },
  ],
  unfoldGrad: [
    {
      inputs: [float(2, 3, 3), float(2, 7)],
      attrs: { dim: 1, step: 2, dilation: 1 },
      reference: ([dy, x]) =>
        writing([2, 7], zeros(x!), [2, 3, 3], (out, [i, window, k]) => {
          const to = i! * 7 + window! * 2 + k!;
          out[to] = out[to]! + at(dy!, [i!, window!, k!]);
        }),
    },
  ],
  gather: [
    {
      inputs: [float(4, 3), places(4, 5, 2)],
      attrs: { dim: 0 },
      reference: ([x, index]) =>
        indices(index!.shape).map((own) => at(x!, chosenBy(index!, 0)(own))),
    },
  ],
  gatherGrad: [
    {
      inputs: [float(5, 2), places(4, 5, 2), float(4, 3)],
      attrs: { dim: 0 },
      reference: ([dy, index, x]) => scattered(zeros(x!), x!, index!, dy!, 0, true),
    },
  ],
  scatter: [
    {
      inputs: [float(4, 3), places(3, 2, 2), float(2, 2)],
      attrs: { dim: 1 },
      reference: ([x, index, source]) => scattered(x!.values, x!, index!, source!, 1, false),
    },
  ],
  scatterAdd: [
    {
      inputs: [float(3, 4), places(3, 5, 4), float(5, 4)],
      attrs: { dim: 0 },
      reference: ([x, index, source]) => scattered(x!.values, x!, index!, source!, 0, true),
    },
  ],
  index: [
    {
      inputs: [float(2, 4, 3), wrapping(4, 1, 2, 3)],
      attrs: { dim: 1, wraps: true },
      reference: ([x, index]) =>
        indices([2, 2, 3, 3]).map((own) => at(x!, entry(x!, index!, 1, own))),
    },
    {
      inputs: [float(3, 3, 2), places(3, 2, 4)],
      attrs: { dim: 0, wraps: false },
      reference: ([x, index]) => indices([4, 2]).map((own) => at(x!, entry(x!, index!, 0, own))),
    },
    {
      inputs: [float(2, 5), places(5, 1, 3)],
      attrs: { dim: 1, wraps: false },
      reference: ([x, index]) => indices([2, 3]).map((own) => at(x!, entry(x!, index!, 1, own))),
    },
  ],
  indexGrad: [
    {
      inputs: [float(2, 6, 2), places(3, 1, 6), float(2, 3, 2)],
      attrs: { dim: 1, wraps: false },
      reference: ([dy, index, x]) => entriesReplaced(zeros(x!), x!, index!, dy!, 1, true),
    },
  ],
  indexPut: [
    {
      inputs: [float(3, 3, 2), wrapping(3, 2, 4), float(4, 2)],
      attrs: { dim: 0, wraps: true },
      reference: ([x, index, source]) => entriesReplaced(x!.values, x!, index!, source!, 0, false),
    },
  ],
  indexAdd: [
    {
      inputs: [float(2, 3), places(3, 1, 5), float(2, 5)],
      attrs: { dim: 1, wraps: false },
      reference: ([x, index, source]) => entriesReplaced(x!.values, x!, index!, source!, 1, true),
    },
  ],
  sort: [
    {
      inputs: [float(3, 7, 2)],
      attrs: { dim: 1, count: 7, descending: false },
      reference: ([x], attrs) => sorted(x!, attrs),
    },
    {
      inputs: [places(4, 9)],
      attrs: { dim: 0, count: 9, descending: true },
      reference: ([x], attrs) => sorted(x!, attrs),
    },
  ],
  topk: [
    {
      inputs: [float(4, 6)],
      attrs: { dim: 1, count: 2, descending: true },
      reference: ([x], attrs) => sorted(x!, attrs),
    },
  ],
};
