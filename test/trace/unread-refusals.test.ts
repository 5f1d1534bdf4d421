import { describe, expect, it } from 'vitest';
import { opTable } from '../../runtime/ops/op-table.ts';
import {
  crossEntropy,
  embedding,
  gather,
  indexAdd,
  inverse,
  luSolve,
  nllLoss,
  ones,
  scatter,
  scatterAdd,
  scatterReduce,
  solve,
  solveTriangular,
  type Tensor,
  take,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { expectSameAsEager, values } from './same-as-eager.ts';

const index = (...at: number[]) => tensor(Int32Array.from(at));
const square = (...elements: number[]) => tensor(Float32Array.from(elements), { shape: [2, 2] });

interface Refusal {
  /** Ops of the table that refuse here. */
  readonly ops: readonly string[];
  readonly drop: (x: Tensor, given: Tensor) => unknown;
  readonly good: () => Tensor;
  readonly bad: () => Tensor;
}

const indices = { good: () => index(0, 2), bad: () => index(0, 3) };
const regular = { good: () => square(2, 1, 1, 2), bad: () => square(1, 1, 1, 1) };
const part = () => ones([2]);

const refusals: Readonly<Record<string, Refusal>> = {
  take: { ops: ['index'], drop: (x, at) => take(x, at), ...indices },
  embedding: { ops: ['index'], drop: (x, at) => embedding(x.unsqueeze(1), at), ...indices },
  gather: { ops: ['gather'], drop: (x, at) => gather(x, 0, at), ...indices },
  scatter: { ops: ['scatter'], drop: (x, at) => scatter(x, 0, at, part()), ...indices },
  scatterAdd: { ops: ['scatterAdd'], drop: (x, at) => scatterAdd(x, 0, at, part()), ...indices },
  scatterReduce: {
    ops: ['scatterReduce'],
    drop: (x, at) => scatterReduce(x, 0, at, part(), 'amax'),
    ...indices,
  },
  indexAdd: { ops: ['indexAdd'], drop: (x, at) => indexAdd(x, 0, at, part()), ...indices },
  indexPut: { ops: ['indexPut'], drop: (x, at) => x.indexPut([at], part()), ...indices },
  nllLoss: {
    ops: ['nllLoss'],
    drop: (x, labels) => nllLoss(x.unsqueeze(0).expand([2, 3]), labels),
    ...indices,
  },
  crossEntropy: {
    ops: ['nllLoss'],
    drop: (x, labels) => crossEntropy(x.unsqueeze(0).expand([2, 3]), labels),
    ...indices,
  },
  inverse: { ops: ['inverse'], drop: (_x, a) => inverse(a), ...regular },
  solve: { ops: ['solve'], drop: (_x, a) => solve(a, ones([2, 1])), ...regular },
  solveTriangular: {
    ops: ['solveTriangular'],
    drop: (_x, a) => solveTriangular(a, ones([2, 1]), { upper: true }),
    good: () => square(2, 1, 0, 2),
    bad: () => square(2, 1, 0, 0),
  },
  luSolve: {
    ops: ['luRows'],
    drop: (_x, pivots) => luSolve(square(2, 1, 1, 2), pivots, ones([2, 1])),
    good: () => index(1, 2),
    bad: () => index(1, 3),
  },
  cholesky: {
    ops: ['cholesky'],
    drop: (_x, a) => a.cholesky(),
    good: () => square(2, 1, 1, 2),
    bad: () => square(-1, 0, 0, 1),
  },
};

describe('trace/results that nobody reads', () => {
  it.each(Object.entries(refusals))('%s is refused captured as it is eagerly', (_, refusal) => {
    const { drop, good, bad } = refusal;
    expectSameAsEager(() => ({
      fn: (x: Tensor, given: Tensor) => {
        drop(x, given);
        return x.mul(2);
      },
      args: (call) => [values([3]), call === 1 ? bad() : good()],
    }));
    const eager = () => tidy(() => void drop(zeros([3]), bad()));
    expect(eager).toThrow();
    const captured = toStatic((x: Tensor, given: Tensor) => void drop(x, given));
    expect(() => captured(zeros([3]), bad())).toThrow();
  });

  it('each op that may refuse its values is among them', () => {
    // The loss of scores is part of no traced program: slices make it of `nllLoss`, after everything was traced.
    const marked = [...opTable.values()].filter(
      ({ name, mayRefuse }) => mayRefuse && name !== 'nllLossOfScores',
    );
    const tested = new Set(Object.values(refusals).flatMap(({ ops }) => ops));
    expect(marked.map(({ name }) => name).filter((name) => !tested.has(name))).toEqual([]);
  });
});
