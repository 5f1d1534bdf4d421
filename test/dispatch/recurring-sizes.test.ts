/** Sizes that vary independently are compiled when they recur, not at their first call. */

import { describe, expect, it } from 'vitest';
import { RecurringSizes } from '../../src/dispatch/recurring-sizes.ts';
import {
  type CapturedStats,
  crossEntropy,
  nn,
  optim,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { values } from '../trace/same-as-eager.ts';

/** Returns how many of these sets of sizes are compiled, at the first call of each if they have not recurred. */
function compiled(sets: readonly (readonly number[])[]): number {
  const recurring = new RecurringSizes<string>();
  const programs = new Set<string>();
  for (const set of sets) {
    const key = set.join();
    if (programs.has(key)) recurring.recur();
    else if (recurring.isWorthCompiling(key, set)) programs.add(key);
  }
  return programs.size;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
/** All pairs of `rows` and `columns`, neighbours far apart. */
const pairs = (rows: number, columns: number): readonly (readonly number[])[] =>
  upTo(rows * columns).map((i) => {
    const at = (i * 37) % (rows * columns);
    return [at % rows, 100 + Math.floor(at / rows)];
  });

describe('sets of sizes compiled', () => {
  const hundred = upTo(100);
  it.each<[what: string, sets: readonly (readonly number[])[], expected: number]>([
    ['one size', hundred.map((n) => [n]), 100],
    ['one size of several tensors', hundred.map((n) => [n, n, 2 * n]), 100],
    ['one size beside others that stay', hundred.map((n) => [32, n, 32]), 100],
    ['hundreds of one size', upTo(400).map((n) => [n]), 256],
    ['two independent sizes', pairs(10, 10), 16],
    [
      'two independent sizes, each also of another tensor',
      pairs(10, 10).map(([n, e]) => [n!, e!, e!, n!]),
      16,
    ],
    ['few combinations', [...pairs(3, 4), ...pairs(3, 4)], 12],
    ['combinations at their second visit', [...pairs(10, 10), ...pairs(10, 10)], 100],
    [
      'combinations after many that recurred',
      [...upTo(9).flatMap(() => pairs(2, 3)), ...pairs(6, 6)],
      36,
    ],
  ])('%s', (_, sets, expected) => {
    expect(compiled(sets)).toBe(expected);
  });
});

it('a step on graphs, each with other numbers of nodes and edges, computes as eagerly', () => {
  const train = (wrap: (fn: Step) => Step) => {
    seed(3);
    const layer = new nn.Linear(4, 3);
    const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
    const step = wrap((x, source, target, labels) => {
      optimizer.zeroGrad();
      const sums = x.mul(0).indexAdd(0, target, x.indexSelect(0, source));
      const loss = crossEntropy(layer.forward(sums.add(x)), labels);
      loss.backward();
      optimizer.step();
      return loss;
    });
    const losses = upTo(60).map((i) => {
      const [nodes, edges] = [3 + (i % 7), 4 + ((i * 5) % 11)];
      const ends = (factor: number) =>
        tensor(Int32Array.from({ length: edges }, (_, k) => (k * factor) % nodes));
      const labels = tensor(Int32Array.from({ length: nodes }, (_, k) => k % 3));
      return step(values([nodes, 4], i), ends(3), ends(5), labels).itemSync();
    });
    return losses;
  };
  type Step = (x: Tensor, source: Tensor, target: Tensor, labels: Tensor) => Tensor;
  const eager = train((fn) => fn);
  let stats = (): CapturedStats => expect.unreachable();
  const captured = train((fn) => {
    const step = toStatic(fn);
    stats = () => step.stats();
    return step;
  });
  expect(captured).toEqual(eager);
  const { plans, fallbacks } = stats();
  expect(plans).toBeLessThan(20);
  expect(fallbacks.map(({ why }) => why)).toEqual([
    expect.stringContaining('compiled when they recur'),
  ]);
});
