/** Errors of a full graph about a number that changes from call to call: they name the number, as eagerly. */

import { expect, it } from 'vitest';
import {
  dropout,
  featureAlphaDropout,
  featureDropout,
  ones,
  quantile,
  type Tensor,
  topk,
  toStatic,
} from '../../../src/index.ts';

type Call = (x: Tensor, k: number) => unknown;

const calls: Readonly<Record<string, readonly [Call, wrong: number, usual: number[]]>> = {
  dropout: [(x, k) => dropout(x, k), 1.5, [0.1, 0.2, 0.3]],
  'dropout of a computed number': [(x, k) => dropout(x, k * 2), 1.25, [0.1, 0.2, 0.3]],
  featureAlphaDropout: [(x, k) => featureAlphaDropout(x, k), -0.5, [0.1, 0.2, 0.3]],
  featureDropout: [(x, k) => featureDropout(x, k), -0.5, [0.1, 0.2, 0.3]],
  quantile: [(x, k) => quantile(x, k), 1.5, [0.1, 0.2, 0.3]],
  topk: [(x, k) => topk(x, k)[0], 9, [1, 2, 3]],
  narrow: [(x, k) => x.narrow(1, k, 1), 7, [0, 1, 2]],
};

it.each(Object.entries(calls))('%s', (_name, [fn, wrong, usual]) => {
  const step = toStatic(fn, { fullGraph: true });
  const rejected = (call: Call) => {
    try {
      call(ones([2, 4]), wrong);
    } catch (error) {
      return (error as { given: string }).given;
    }
    return undefined;
  };
  for (const k of usual) step(ones([2, 4]), k);
  expect(rejected(step)).toBeDefined();
  expect(rejected(step)).toBe(rejected(fn));
});
