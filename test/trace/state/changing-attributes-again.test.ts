/** Gradients of gradients where a number changes: programs made late decide by the numbers of their run. */

import { describe, expect, it } from 'vitest';
import { grad, seed, sum, Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { weights } from '../same-as-eager.ts';
import { describeError } from '../snapshot.ts';
import { type Case, cases } from './changing-attributes-table.ts';

/** Those whose rules decide on the number, or place something by it. */
const names = [
  'select',
  'narrow',
  'slice',
  'pow',
  'pow of positive ones',
  'pow of a number',
].concat(
  ['remainder', 'clamp', 'norm', 'cdist', 'quantile', 'elu', 'celu', 'softplus', 'smoothL1Loss'],
  ['layerNorm', 'logit', 'a view of a view', 'addcdiv', 'lerp'],
);

function secondGradient(fn: Case['fn'], k: number): unknown {
  return tidy(() => {
    seed(3);
    const x = weights([24, 6]);
    const ids = tensor(new Int32Array(24).map((_, i) => i % 6));
    try {
      const result = fn(x, k, ids);
      if (!(result instanceof Tensor)) return 'no tensor';
      const [first] = grad([sum(result)], [x], { createGraph: true });
      const [second] = grad([sum(first!.mul(first!))], [x]);
      return [first!.toArraySync(), second!.toArraySync()];
    } catch (error) {
      return describeError(error);
    }
  });
}

describe('trace/changing-attributes-again', () => {
  for (const name of names) {
    it(`${name}: second gradients of several numbers, special ones among them`, () => {
      const { fn, numbers } = cases[name]!;
      const captured = toStatic(fn);
      // One after the other, each after others and before others.
      for (const k of [numbers[3]!, numbers[5]!, 3, 2, 1, 0, 2, numbers[7]!, 1, 3]) {
        expect(secondGradient(captured, k), `${k}`).toEqual(secondGradient(fn, k));
      }
    });
  }
});
