/** An op that refuses its values runs again natively: what its subgraph was handed must still be there. */

import { expect, it } from 'vitest';
import {
  ArgumentError,
  breakGraph,
  cholesky,
  crossEntropy,
  memory,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';

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

it('what was written before the op that refuses is written once', () => {
  const step = (count: Tensor, input: Tensor, labels: Tensor, log: string[]) => {
    count.add_(1);
    log.push('counted');
    try {
      return crossEntropy(input.mul(count), labels);
    } catch {
      log.push('refused');
      return input.mul(count).sum();
    }
  };
  const labels = (...values: number[]) => tensor(new Int32Array(values));
  const [actual, expected] = [toStatic(step, { strict: true }), step].map((run) => {
    const before = memory.stats('cpu').allocated;
    const seen = tidy(() => {
      const [count, log] = [tensor([1, 10]), [] as string[]];
      return [labels(0, 1), labels(0, 7), labels(1, 1), labels(9, 1)].map((given) => {
        const loss = run(count, x(), given, log);
        return [loss.itemSync(), [...count.dataSync()], [...log]];
      });
    });
    return [seen, memory.stats('cpu').allocated - before];
  });
  expect(actual).toEqual(expected);
});

it('without a handler the error is that of eager execution, and the copies were predicted', () => {
  const step = (count: Tensor, input: Tensor, labels: Tensor) => {
    count.add_(1);
    return crossEntropy(input.mul(count), labels);
  };
  const captured = toStatic(step, { strict: true });
  tidy(() => {
    const [count, labels] = [tensor([1, 10]), tensor(new Int32Array([0, 7]))];
    expect(() => captured(count, x(), labels)).toThrow(/label 7/);
    expect([...count.dataSync()]).toEqual([2, 11]);
    captured(count, x(), tensor(new Int32Array([0, 1])));
    const { stages, record } = captured.programs()[0]!;
    expect(stages!.planned.forward.predicted.copiedBytes).toBe(64);
    expect(record.peakBytes).toBe(stages!.planned.forward.predicted.peakBytes);
  });
});
