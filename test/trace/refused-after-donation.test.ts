/** An op that refuses its values runs again natively: what its subgraph was handed must still be there. */

import { expect, it } from 'vitest';
import {
  ArgumentError,
  breakGraph,
  cholesky,
  crossEntropy,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';

const x = () =>
  tensor([
    [1, 2],
    [3, 4],
  ]);

it('the error leaves the function as it does eagerly, and later calls are right', () => {
  const loss = (input: Tensor, labels: Tensor) => {
    const doubled = input.mul(2);
    breakGraph();
    // `doubled` is dead after this line: its memory is handed over.
    return crossEntropy(doubled.add(1).mul(3), labels);
  };
  const f = toStatic(loss);
  const labels = (...values: number[]) => tensor(new Int32Array(values));
  for (let call = 0; call < 3; call++) f(x(), labels(0, 1)).dispose();
  for (const run of [f, loss]) {
    expect(() => tidy(() => run(x(), labels(0, 7)))).toThrow(ArgumentError);
    expect(() => tidy(() => run(x(), labels(0, 7)))).toThrow(/label 7/);
  }
  const results = [f, loss].map((run) => run(x(), labels(1, 0)).itemSync());
  expect(results[0]).toBe(results[1]);
});

it('a handler in the function goes on with the values from before', () => {
  const solved = (input: Tensor, matrix: Tensor) => {
    const doubled = input.mul(2);
    breakGraph();
    const scaled = doubled.add(1).mul(3);
    try {
      return cholesky(matrix).add(scaled);
    } catch {
      return doubled.sub(scaled);
    }
  };
  const f = toStatic(solved);
  const matrix = (corner: number) =>
    tensor([
      [corner, 1],
      [1, 3],
    ]);
  for (const corner of [4, 4, -4, 4, -4]) {
    const [actual, expected] = [f, solved].map((run) => [...run(x(), matrix(corner)).dataSync()]);
    expect(actual).toEqual(expected);
  }
});
