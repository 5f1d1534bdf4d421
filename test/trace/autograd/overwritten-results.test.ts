/** Returned views that the caller overwrites: the gradient is zero, as that of an overwritten part of a tensor. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../../src/index.ts';

type Views = (x: Tensor, w: Tensor) => Tensor[];

const views: Readonly<Record<string, Views>> = {
  'a row': (x, w) => [x.mul(w).select(0, 1)],
  'a column': (x, w) => [x.mul(w).select(1, 1)],
  'all elements, in another shape': (x, w) => [x.mul(w).view([4])],
  transposed: (x, w) => [x.mul(w).t()],
  'a view of a view': (x, w) => [x.mul(w).view([4]).narrow(0, 1, 2)],
  'an added dimension': (x, w) => [x.mul(w).unsqueeze(0)],
  'a view written in the function': (x, w) => {
    const view = x.mul(w).select(0, 1);
    view.mul_(2);
    return [view];
  },
  'beside a use of the base': (x, w) => {
    const base = x.mul(w).mul(2);
    return [base.select(0, 1), base.sum()];
  },
  'with its base': (x, w) => {
    const base = x.mul(w);
    return [base.select(0, 1), base];
  },
  'beside the base detached': (x, w) => {
    const base = x.mul(w);
    return [base.select(0, 1), base.detach()];
  },
  'the base itself': (x, w) => [x.mul(w)],
};

const writes: Readonly<Record<string, (view: Tensor, w: Tensor) => unknown>> = {
  fill_: (view) => view.fill_(3),
  zero_: (view) => view.zero_(),
  'copy_ of a constant': (view) => view.copy_(view.detach().mul(2)),
  'copy_ of a result': (view, w) => view.copy_(w.sum().mul(view.detach().mul(1))),
  mul_: (view) => view.mul_(2),
  'fill_, twice': (view) => view.fill_(3).fill_(2),
  'fill_ beside a handle': (view) => {
    const handle = view.detach();
    view.fill_(3);
    return handle;
  },
};

/** Returns the results, and the gradient of the weight, after the caller has written to the first result. */
function outcome(step: Views, write: (view: Tensor, w: Tensor) => unknown): unknown[] {
  const w = tensor([
    [0.5, -1.5],
    [2, 1],
  ]).requiresGrad_();
  const x = tensor([
    [1.5, 0.25],
    [-0.75, 3],
  ]);
  const results = step(x, w);
  write(results[0]!, w);
  const losses = results.map((each) => each.mul(each).sum());
  losses.reduce((sum, loss) => sum.add(loss)).backward();
  return [results.map((each) => [each.tolist(), each.requiresGrad]), w.grad?.tolist() ?? null];
}

describe.each(Object.entries(views))('%s', (_name, step) => {
  it.each(Object.entries(writes))('%s', (_write, write) => {
    const expected = outcome(step, write);
    const captured = toStatic(step, { fullGraph: true });
    expect([outcome(captured, write), outcome(captured, write)]).toEqual([expected, expected]);
  });
});
