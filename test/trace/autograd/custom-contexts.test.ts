/** Tensors that `forward` of a custom function puts into its context live until the graph is freed. */

import { describe, expect, it } from 'vitest';
import {
  customFunction,
  type FunctionContext,
  memory,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';

/** Puts what the factor's gradient needs into the context. */
const contexts: Readonly<Record<string, (ctx: FunctionContext, x: Tensor) => Tensor>> = {
  'a new tensor': (ctx, x) => {
    ctx.factor = x.mul(2);
    return x.mul(x);
  },
  'a list': (ctx, x) => {
    ctx.factor = [x.mul(2)];
    return x.mul(x);
  },
  'an object': (ctx, x) => {
    ctx.factor = { of: x.mul(2) };
    return x.mul(x);
  },
  'a tensor that is saved, too': (ctx, x) => {
    ctx.factor = x.mul(2);
    ctx.saveForBackward(ctx.factor as Tensor);
    return x.mul(x);
  },
  'the result': (ctx, x) => {
    ctx.factor = x.mul(x);
    return ctx.factor as Tensor;
  },
  'the input': (ctx, x) => {
    ctx.factor = x;
    return x.mul(x);
  },
};

function factorOf({ factor }: FunctionContext): Tensor {
  if (Array.isArray(factor)) return factor[0] as Tensor;
  return (factor as { of?: Tensor }).of ?? (factor as Tensor);
}

const square = (forward: (ctx: FunctionContext, x: Tensor) => Tensor) =>
  customFunction({ forward, backward: (ctx, dy) => dy.mul(factorOf(ctx)) });

/** `retainGraph` of each backward inside. */
const backwards = {
  once: [false],
  twice: [true, false],
  'once too often': [true, false, false],
};

describe.each(Object.entries(contexts))('%s', (_name, forward) => {
  const ways = Object.entries(backwards).flatMap(([count, retained]) =>
    [true, false].map((direct) => ({ count, retained, direct })),
  );
  it.each(ways)('$count, directly: $direct', ({ retained, direct }) => {
    const outcome = (wrap: (f: (x: Tensor) => number) => (x: Tensor) => number): unknown => {
      const w = tensor([1.5, -2]).requiresGrad_();
      const called = square(forward);
      const step = wrap((x) => {
        // Without another op that keeps a value, only the context can be read too often.
        const loss = called(direct ? w : w.mul(x)).sum();
        for (const retainGraph of retained) loss.backward(undefined, { retainGraph });
        return 1;
      });
      try {
        step(tensor([0.5, 3]));
        step(tensor([2, -1]));
      } catch (error) {
        expect(retained).toEqual(backwards['once too often']);
        return (error as Error).message.split('\n')[0];
      }
      return w.grad!.tolist();
    };
    const expected = outcome((step) => step);
    expect(outcome((step) => toStatic(step))).toEqual(expected);
    expect(outcome((step) => toStatic(step, { fullGraph: true }))).toEqual(expected);
  });

  it.each(['backward', 'dispose'] as const)('%s frees it', (end) => {
    const called = square(forward);
    const w = tensor([1.5, -2]).requiresGrad_();
    tidy(() => called(w).sum().backward());
    const before = memory.stats('cpu').allocated;
    tidy(() => {
      const loss = called(w).sum();
      if (end === 'backward') loss.backward();
    });
    expect(memory.stats('cpu').allocated).toBe(before);
  });
});
