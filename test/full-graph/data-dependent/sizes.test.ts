/** Sizes that ops read from the values of tensors, as numbers of one program. */

import { describe, expect, it } from 'vitest';
import {
  bincount,
  type DType,
  histc,
  oneHot,
  repeatInterleave,
  type Tensor,
  tensor,
  toStatic,
} from '../../../src/index.ts';
import { type Outcome, outcome } from '../outcome.ts';
import { sameAsEager } from '../suite.ts';

type Fn = (x: Tensor, ids: Tensor) => unknown;

const functions: Record<string, Fn> = {
  'counts of integers': (_, ids) => [bincount(ids), ids.bincount(null, 4).mul(2)],
  'sums of weights': (x, ids) => bincount(ids, x.select(1, 0), 2).exp(),
  'counts that fill a matrix': (x, ids) => {
    const [a, b] = [ids.clamp({ max: 2 }), ids.flip(0).clamp({ max: 2 })];
    return a.mul(3).add(b).bincount(null, 9).reshape([3, 3]).float().matmul(x);
  },
  'as many counts as a number says': (_, ids) => ids.bincount(null, ids.amin().itemSync() + 2),
  'entries as often as counts say': (x, ids) => [
    x.repeatInterleave(ids, 0).tanh(),
    repeatInterleave(x.t(), ids, -1).sum(0),
  ],
  'all entries as often': (x, ids) => [
    x.repeatInterleave(ids.narrow(0, 0, 1), 1),
    x.repeatInterleave(ids.select(0, 1)),
  ],
  'pieces between indices': (x, ids) => {
    const [first, second, third] = x.tensorSplit(ids.narrow(0, 0, 2));
    return [first!.exp(), second!.sum(0), third!.mul(first!.sum())];
  },
  'a class for each index': (x, ids) => oneHot(ids).t().float().matmul(x),
  'a histogram of the range of the data': (x) => [histc(x, 4), x.sum(0).histc(3)],
  'ranges between two numbers': (x, ids) => {
    const [from, to] = [ids.amin().itemSync(), ids.amax().itemSync()];
    return [x.narrow(0, 0, to - from), x.mul(to - from)];
  },
  'rows for the tokens of each segment': (x, ids) => {
    const segments = x.repeatInterleave(ids, 0);
    const sums = segments.mul(segments.shape[0]!).softmax(0);
    return bincount(ids).float().unsqueeze(1).mul(sums.sum(0));
  },
};

const values = [
  [1, 2, 3, 0, 5, -1],
  [7, 7, -3, 2.5, 9, 7],
  [1, 1, 1, 1, 1, 1],
];
const counts = [
  [1, 2, 0],
  [2, 3, 1],
  [0, 0, 0],
  [1, 1, 3],
];
const makesOf = (all: readonly (readonly number[])[]) =>
  all.flatMap((ids) =>
    values.map((each) => () => [
      tensor(each, { shape: [3, 2] }).requiresGrad_(),
      tensor(ids, { dtype: 'int32' }),
    ]),
  );

/** What a call has returned, or its error without the lines around the user's. */
function summary({ value, thrown }: Outcome): unknown {
  return thrown ? String(thrown).split('remedy:')[0] : value;
}

describe('full-graph/data-dependent/sizes', () => {
  it.each(Object.entries(functions))('%s', (_, fn) => {
    sameAsEager(fn, makesOf(counts));
  });

  it.each(Object.entries(functions).slice(0, 5))('%s: errors of eager execution', (_, fn) => {
    const graph = toStatic(fn, { fullGraph: true });
    const run = (f: Fn, make: () => Tensor[]) => summary(outcome(f, make()));
    const invalid = [
      [-1, 2, 1],
      [2, -3, 1],
    ];
    const makes = makesOf([[1, 2, 0], ...invalid, [1, 0, 2], ...invalid]);
    const graphs = makes.map((make) => run(graph as Fn, make));
    const eager = makes.map((make) => run(fn, make));
    expect(graphs).toEqual(eager);
    expect(graph.stats().graphRuns).toBe(eager.filter((each) => typeof each !== 'string').length);
  });

  it.each(['float64', 'float32', 'float16', 'bfloat16', 'int32', 'uint8', 'bool'] as const)(
    'of %s',
    (dtype: DType) => {
      const fn = (x: Tensor, ids: Tensor) => [
        x.repeatInterleave(ids, 0),
        x.tensorSplit(ids)[1]!,
        x.float().histc(3),
        x.repeatInterleave(x.abs().sum().to('int32')),
      ];
      for (const shape of [[0], [3], [3, 2], [3, 0]]) {
        const length = shape.reduce((size, each) => size * each, 1);
        const makes = [
          [1, 0, 1],
          [0, 3, 2],
          [0, 0, 0],
        ].map((ids) => () => [
          tensor(
            Array.from({ length }, (_, i) => (i * 2) % 3),
            { dtype, shape },
          ),
          tensor(ids.slice(0, shape[0]), { dtype: 'int32' }),
        ]);
        sameAsEager(fn, makes);
      }
    },
  );
});
