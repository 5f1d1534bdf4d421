/** Functions of `runtime/functional` with inputs, and what PyTorch's documentation says of them, written as plain loops. */

import {
  affineGrid,
  blockDiag,
  cartesianProd,
  combinations,
  conv3d,
  ctcLoss,
  diagflat,
  embeddingBag,
  logSoftmax,
  maxPool3d,
  pdist,
  tensor,
} from '../../runtime/index.ts';
import { gridSampleCases } from './grid-sample-cases.ts';
import { at, type FunctionalCase, type Nested, range, total } from './plain-loops.ts';

const int = (values: number[] | number[][]) => tensor(values as number[], { dtype: 'int32' });

type Triple = readonly [number, number, number];
interface Windows {
  readonly stride: Triple;
  readonly padding: Triple;
  readonly dilation: Triple;
  readonly groups?: number;
}

/** Places of the windows, and of their elements. */
function sizesOf(x: Nested, kernel: Triple, { stride, padding, dilation }: Windows) {
  const out = range(3).map(
    (i) =>
      Math.floor(
        (x.shape[i + 2]! + 2 * padding[i]! - dilation[i]! * (kernel[i]! - 1) - 1) / stride[i]!,
      ) + 1,
  ) as [number, number, number];
  const place = (o: Triple, k: Triple) =>
    range(3).map((i) => o[i]! * stride[i]! - padding[i]! + k[i]! * dilation[i]!);
  return { out, place };
}

const triples = ([a, b, c]: Triple): Triple[] =>
  range(a).flatMap((i) => range(b).flatMap((j) => range(c).map((k): Triple => [i, j, k])));

function convolved(x: Nested, w: Nested, bias: Nested, windows: Windows): number[] {
  const [n, c] = x.shape as [number, number];
  const [o, perGroup] = w.shape as [number, number];
  const kernel = w.shape.slice(2) as unknown as Triple;
  const { out, place } = sizesOf(x, kernel, windows);
  return range(n).flatMap((b) =>
    range(o).flatMap((channel) =>
      triples(out).map((position) => {
        const first = Math.floor(channel / (o / (windows.groups ?? 1))) * perGroup;
        let total = bias[channel]!;
        for (const i of range(perGroup).filter((i) => first + i < c)) {
          for (const k of triples(kernel)) {
            total += at(x, [b, first + i, ...place(position, k)]) * at(w, [channel, i, ...k]);
          }
        }
        return total;
      }),
    ),
  );
}

function largest(x: Nested, kernel: Triple, windows: Windows): number[] {
  const { out, place } = sizesOf(x, kernel, windows);
  return range(x.shape[0]!).flatMap((b) =>
    range(x.shape[1]!).flatMap((c) =>
      triples(out).map((position) =>
        Math.max(...triples(kernel).map((k) => at(x, [b, c, ...place(position, k)], -Infinity))),
      ),
    ),
  );
}

function bags(lists: readonly number[][], reduce: (values: number[]) => number) {
  return (weight: Nested) =>
    lists.flatMap((bag) =>
      range(weight.shape[1]!).map((d) =>
        bag.length === 0 ? 0 : reduce(bag.map((row) => at(weight, [row, d]))),
      ),
    );
}

/** All sequences of classes that collapse to the labels: repeats are joined, then blanks (0) are dropped. */
function alignmentLoss(
  logProbs: (t: number, c: number) => number,
  steps: number,
  classes: number,
  labels: number[],
) {
  const paths = range(classes ** steps).map((code) =>
    range(steps).map((t) => Math.floor(code / classes ** t) % classes),
  );
  const collapsed = (path: number[]) => path.filter((c, t) => c !== 0 && c !== path[t - 1]);
  const fits = paths.filter((path) => collapsed(path).join() === labels.join());
  return -Math.log(total(fits.map((path) => Math.exp(total(path.map((c, t) => logProbs(t, c)))))));
}

const plain: Windows = { stride: [1, 1, 1], padding: [0, 0, 0], dilation: [1, 1, 1] };
const wide: Windows = { stride: [2, 1, 2], padding: [1, 1, 0], dilation: [2, 1, 1] };

export const cases: readonly FunctionalCase[] = [
  {
    name: 'conv3d',
    shapes: [[2, 2, 3, 4, 3], [3, 2, 2, 3, 2], [3]],
    run: (x, w, b) => conv3d(x!, w!, b!),
    expected: (x, w, b) => convolved(x!, w!, b!, plain),
  },
  {
    name: 'conv3d with stride, padding, dilation and groups',
    shapes: [[1, 4, 4, 3, 5], [2, 2, 2, 3, 2], [2]],
    run: (x, w, b) => conv3d(x!, w!, b!, { ...wide, groups: 2 }),
    expected: (x, w, b) => convolved(x!, w!, b!, { ...wide, groups: 2 }),
  },
  {
    name: 'conv3d of equal size, without a batch',
    shapes: [[1, 3, 3, 3], [2, 1, 3, 3, 3], [2]],
    run: (x, w, b) => conv3d(x!, w!, b!, { padding: 'same' }),
    expected: (x, w, b) => {
      const batch = Object.assign([...x!], { shape: [1, ...x!.shape] });
      return convolved(batch, w!, b!, { ...plain, padding: [1, 1, 1] });
    },
  },
  {
    name: 'maxPool3d',
    shapes: [[2, 2, 4, 4, 4]],
    run: (x) => maxPool3d(x!, 2),
    expected: (x) => largest(x!, [2, 2, 2], { ...plain, stride: [2, 2, 2] }),
  },
  {
    name: 'maxPool3d with overlapping windows and padding',
    shapes: [[1, 2, 5, 4, 6]],
    run: (x) =>
      maxPool3d(x!, [3, 2, 2], { stride: [2, 1, 2], padding: [1, 1, 0], dilation: [1, 1, 2] }),
    expected: (x) =>
      largest(x!, [3, 2, 2], { stride: [2, 1, 2], padding: [1, 1, 0], dilation: [1, 1, 2] }),
  },
  {
    name: 'embeddingBag: means of rows',
    shapes: [[5, 3]],
    run: (w) =>
      embeddingBag(
        w!,
        int([
          [0, 2, 2],
          [4, 1, 0],
        ]),
      ),
    expected: (w) =>
      bags(
        [
          [0, 2, 2],
          [4, 1, 0],
        ],
        (v) => total(v) / v.length,
      )(w!),
  },
  {
    name: 'embeddingBag: means from offsets, an empty bag, one index left out',
    shapes: [[5, 2]],
    run: (w) => embeddingBag(w!, int([0, 3, 1, 1, 4]), { offsets: int([0, 2, 2]), paddingIdx: 3 }),
    expected: (w) => bags([[0], [], [1, 1, 4]], (v) => total(v) / v.length)(w!),
  },
  {
    name: 'embeddingBag: maxima',
    shapes: [[5, 2]],
    run: (w) => embeddingBag(w!, int([0, 3, 1, 2, 4]), { offsets: int([0, 2, 5]), mode: 'max' }),
    expected: (w) => bags([[0, 3], [1, 2, 4], []], (v) => Math.max(...v))(w!),
  },
  {
    name: 'embeddingBag: weighted sums',
    shapes: [
      [4, 2],
      [2, 3],
    ],
    run: (w, f) =>
      embeddingBag(
        w!,
        int([
          [0, 1, 1],
          [3, 2, 0],
        ]),
        { mode: 'sum', perSampleWeights: f! },
      ),
    expected: (w, f) =>
      [
        [0, 1, 1],
        [3, 2, 0],
      ].flatMap((bag, b) =>
        range(2).map((d) => total(bag.map((row, i) => at(w!, [row, d]) * at(f!, [b, i])))),
      ),
  },
  {
    name: 'ctcLoss of single sequences',
    shapes: [[4, 3]],
    run: (x) => ctcLoss(logSoftmax(x!, 1), int([1, 2]), [4], [2], { reduction: 'none' }),
    expected: (x) => [
      alignmentLoss(
        scoresOf(x!, (t, c) => [t, c]),
        4,
        3,
        [1, 2],
      ),
    ],
  },
  {
    name: 'ctcLoss of repeated labels and shorter inputs, in one list',
    shapes: [[5, 2, 3]],
    run: (x) => ctcLoss(logSoftmax(x!, 2), int([2, 2, 1]), [5, 3], [2, 1]),
    expected: (x) => {
      const losses = [
        alignmentLoss(
          scoresOf(x!, (t, c) => [t, 0, c]),
          5,
          3,
          [2, 2],
        ) / 2,
        alignmentLoss(
          scoresOf(x!, (t, c) => [t, 1, c]),
          3,
          3,
          [1],
        ),
      ];
      return [total(losses) / 2];
    },
  },
  {
    name: 'ctcLoss without labels',
    shapes: [[3, 1, 2]],
    run: (x) => ctcLoss(logSoftmax(x!, 2), int([[1]]), int([3]), int([0]), { reduction: 'sum' }),
    expected: (x) => [
      alignmentLoss(
        scoresOf(x!, (t, c) => [t, 0, c]),
        3,
        2,
        [],
      ),
    ],
  },
  ...gridSampleCases,
  {
    name: 'affineGrid',
    shapes: [[2, 2, 3]],
    run: (theta) => affineGrid(theta!, [2, 1, 2, 3]),
    expected: (theta) =>
      range(2).flatMap((n) =>
        [-1 / 2, 1 / 2].flatMap((y) =>
          [-2 / 3, 0, 2 / 3].flatMap((x) =>
            range(2).map((r) => total([x, y, 1].map((v, k) => v * at(theta!, [n, r, k])))),
          ),
        ),
      ),
  },
  {
    name: 'diagflat and blockDiag',
    shapes: [[2], [1, 2]],
    run: (a, b) => blockDiag(diagflat(a!, 1), b!),
    expected: ([a0, a1], [b0, b1]) =>
      [
        [0, a0, 0, 0, 0],
        [0, 0, a1, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, b0, b1],
      ].flat(),
  },
  {
    name: 'cartesianProd',
    shapes: [[2], [3]],
    run: (a, b) => cartesianProd(a!, b!),
    expected: (a, b) => a!.flatMap((x) => b!.flatMap((y) => [x, y])),
  },
  {
    name: 'combinations',
    shapes: [[4]],
    run: (x) => combinations(x!, 3),
    expected: ([a, b, c, d]) => [a, b, c, a, b, d, a, c, d, b, c, d],
  },
  {
    name: 'combinations of no elements',
    shapes: [[4]],
    run: (x) => combinations(x!, 0),
    expected: () => [],
  },
  {
    name: 'pdist',
    shapes: [[4, 3]],
    run: (x) => pdist(x!),
    expected: (x) =>
      range(4).flatMap((i) =>
        range(4 - i - 1).map((k) =>
          Math.hypot(...range(3).map((d) => at(x!, [i, d]) - at(x!, [i + k + 1, d]))),
        ),
      ),
  },
];

/** Log-probabilities of scores whose classes are the last dimension. */
function scoresOf(x: Nested, index: (t: number, c: number) => number[]) {
  const classes = x.shape.at(-1)!;
  return (t: number, c: number) =>
    at(x, index(t, c)) - Math.log(total(range(classes).map((k) => Math.exp(at(x, index(t, k))))));
}
