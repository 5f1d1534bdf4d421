/** Methods of the rows of `toArraySync()` with fullGraph, also of a row that the run chooses. */

import { expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

type Step = (x: Tensor, log: unknown[]) => unknown;

const uses = [
  ...['map((v) => v * 2)', 'forEach((v) => { log.push(v); })', 'reduce((a, v) => a + v, 0)'],
  ...['reduceRight((a, v) => a - v)', 'some((v) => v > 2)', 'every((v) => v > 0)'],
  ...['find((v) => v > 1)', 'findIndex((v) => v > 1)', 'findLast((v) => v > 1)', 'indexOf(2)'],
  ...['includes(2)', 'lastIndexOf(2)', 'join()', 'slice(1)', 'at(-1)', 'concat([1])', 'reverse()'],
  ...['toSorted((a, b) => a - b)', 'flatMap((v) => [v, 1])', 'length', 'fill(0)', 'with(0, 1)'],
];

/** Which elements a filter keeps of a row that is chosen, too, can't be merged. */
const ofKnownRow = ['filter((v) => v > 1)', 'filter((v) => v > 1).length'];

const cases = [
  ...uses.map((use) => `rows[0].${use}`),
  ...ofKnownRow.map((use) => `rows[0].${use}`),
  ...uses.map((use) => `rows[i].${use}`),
];

function run(fn: Step): string[] {
  return [1, 2, -1].map((scale) => {
    const log: unknown[] = [];
    const x = tensor([
      [scale, 2],
      [3, 4 * scale],
    ]);
    return JSON.stringify([fn(x, log), log]);
  });
}

it.each(cases)('%s is in the program', (use) => {
  const choose = 'const i = x.argmax().itemSync() % 2;';
  const step = new Function('x', 'log', `const rows = x.toArraySync(); ${choose} return ${use};`);
  const captured = toStatic(step as Step, { fullGraph: true });
  expect(run(captured as Step)).toEqual(run(step as Step));
});
