/** A backward that is refused says the same of a captured function's result as of an eager one. */

import { describe, expect, it } from 'vitest';
import {
  AutogradError,
  grad,
  memory,
  noGrad,
  type Tensor,
  tidy,
  toStatic,
} from '../../src/index.ts';
import { weights } from '../trace/same-as-eager.ts';

type Fn = (x: Tensor, w: Tensor) => Tensor[];

/** All of [3, 3]. */
const functions: Record<string, Fn> = {
  'a product': (x, w) => [x.mul(w).sum()],
  'a chain': (x, w) => [x.matmul(w).tanh().mul(x).exp()],
  'a result that its op reads': (x, w) => [x.mul(w).sigmoid()],
  'two results that share a part': (x, w) => {
    const shared = x.mul(w);
    return [shared.tanh(), shared.exp().add(x)];
  },
  'two results apart': (x, w) => [x.exp(), w.tanh()],
  'two results, one of which reads nothing': (x, w) => [
    x.add(w),
    x.matmul(w.transpose(0, 1)).matmul(x),
  ],
  'a view': (x, w) => [x.matmul(w).t().mul(w)],
  'a write in place': (x, w) => {
    const y = x.mul(w);
    y.mul_(w);
    return [y.sum(), y];
  },
  'a normalized product': (x, w) => [x.matmul(w).softmax(1).div(w)],
};

/** What is done with the results; the last step is refused, where anything is. */
const uses: Record<string, (y: Tensor[], x: Tensor, w: Tensor) => void> = {
  'differentiated twice': (y) => {
    y[0]!.sum().backward();
    y[0]!.sum().backward();
  },
  'differentiated one after the other': (y) => {
    y[0]!.sum().backward();
    y.at(-1)!.mul(2).sum().backward();
  },
  'differentiated twice, once with a history': (y, x) => {
    grad(y[0]!.sum(), [x], { createGraph: true, retainGraph: false });
    y[0]!.sum().backward();
  },
  'differentiated with a history when used up': (y, x) => {
    y[0]!.sum().backward();
    grad(y[0]!.sum(), [x], { createGraph: true });
  },
  'differentiated twice, the second time below another graph': (y, _, w) => {
    y[0]!.sum().backward();
    y[0]!.mul(w).add(w).sum().backward();
  },
  'used up in part, below another graph that all lead to': (y, x, w) => {
    for (const each of y) if (each.requiresGrad) each.retainGrad();
    y[0]!.sum().backward();
    const all = y.map((each) => each.mul(x).tanh().sum());
    all.reduce((a, b) => a.add(b), w.mul(2).sum()).backward();
  },
  'where an argument was written': (y, x) => {
    noGrad(() => x.mul_(2));
    y[0]!.sum().backward();
  },
  'where the other argument was written': (y, _, w) => {
    noGrad(() => w.add_(1));
    y.at(-1)!.sum().backward();
  },
  'where an argument was written, from the last result': (y, x) => {
    noGrad(() => x.add_(1));
    y.at(-1)!.sum().backward();
  },
  'where a result was written': (y) => {
    noGrad(() => y[0]!.add_(1));
    y[0]!.sum().backward();
  },
};

/**
 * The error without its place. Where a graph was used up, also the gradients: it is refused before any leaf gets its own;
 * elsewhere some have got theirs before the refusal, in a program others than op by op.
 */
function refusal(fn: Fn, use: (typeof uses)[string]): string {
  return tidy(() => {
    const [x, w] = [weights([3, 3], 1), weights([3, 3], 2)];
    const results = fn(x, w);
    const leaves = [x, w, ...results];
    try {
      use(results, x, w);
      return 'none';
    } catch (error) {
      expect(error).toBeInstanceOf(AutogradError);
      const text = (error as Error).message.replace(/^ *at: .*\n/m, '');
      if (!text.includes('a second time')) return text;
      return [text, ...leaves.map(({ grad }) => grad?.dataSync().join())].join('\n');
    } finally {
      for (const { grad } of leaves) grad?.dispose();
    }
  });
}

describe.each(Object.entries(functions))('of %s', (_, fn) => {
  it.each(Object.entries(uses))('%s', (_how, use) => {
    const expected = refusal(fn, use);
    const captured = toStatic(fn, { strict: true });
    const before = memory.stats('cpu').allocated;
    for (let call = 0; call < 2; call++) expect(refusal(captured, use)).toBe(expected);
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});

it('is refused in most of these cases', () => {
  const all = Object.values(functions).flatMap((fn) =>
    Object.values(uses).map((use) => refusal(fn, use)),
  );
  expect(all.filter((text) => text !== 'none').length).toBeGreaterThan(all.length / 2);
});
