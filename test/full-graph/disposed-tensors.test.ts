/** A disposed tensor keeps its layout, dtype and flags; what reads its data throws. */

import { describe, expect, it } from 'vitest';
import { ones, type Tensor, toStatic } from '../../src/index.ts';

const reads: Readonly<Record<string, (x: Tensor) => unknown>> = {
  shape: (x) => x.shape,
  rank: (x) => x.rank,
  dtype: (x) => x.dtype,
  requiresGrad: (x) => x.requiresGrad,
  isContiguous: (x) => x.isContiguous,
  strides: (x) => x.strides,
  nbytes: (x) => x.nbytes,
  disposed: (x) => x.disposed,
  'numel()': (x) => x.numel(),
  'dim()': (x) => x.dim(),
  'size(0)': (x) => x.size(0),
  'elementSize()': (x) => x.elementSize(),
  'dispose()': (x) => x.dispose(),
  'a method': (x) => typeof x.add,
  'a caught error': (x) => {
    try {
      return x.add(1).shape;
    } catch (error) {
      return (error as Error).name;
    }
  },
  'add()': (x) => x.add(1).shape,
  'clone()': (x) => x.clone().shape,
  'sum()': (x) => x.sum().shape,
  'tolist()': (x) => x.tolist(),
  'fill_()': (x) => x.fill_(1).shape,
};

const tensors: Readonly<Record<string, (x: Tensor, y: Tensor, w: Tensor) => Tensor>> = {
  'a result': (x, _y, w) => x.mul(w),
  'a constant': () => ones([2, 3]),
  'an argument': (_x, y) => y,
  'an argument that is read before': (x, y) => {
    x.add_(y);
    return y;
  },
};

describe.each(Object.entries(tensors))('%s', (_tensor, disposedIn) => {
  it.each(Object.entries(reads))('%s', (name, read) => {
    const w = ones([2, 3]).requiresGrad_();
    const step = (x: Tensor, y: Tensor): unknown[] => {
      const z = disposedIn(x, y, w);
      z.dispose();
      return [x.mul(2), read(z)];
    };
    const captured = toStatic(step, { fullGraph: true });
    const outcome = (run: typeof step): unknown => {
      try {
        const [result, value] = run(ones([2, 3]), ones([2, 3]));
        return [(result as Tensor).tolist(), value];
      } catch (error) {
        return [(error as Error).name, (error as Error).message.split('\n')[0]];
      }
    };
    const expected = outcome(step);
    expect([outcome(captured), outcome(captured)]).toEqual([expected, expected]);
    const throws = (expected as unknown[])[0] === 'DisposedError' || name === 'a caught error';
    if (!throws) expect(captured.stats().breaks).toEqual([]);
  });
});

it('a tensor without gradients is a leaf, also after disposal', () => {
  const step = (x: Tensor, y: Tensor): unknown[] => {
    const z = x.mul(2);
    z.dispose();
    y.dispose();
    return [z.isLeaf, y.isLeaf];
  };
  const captured = toStatic(step, { fullGraph: true });
  for (let call = 0; call < 2; call++) {
    expect(captured(ones([2, 3]), ones([2, 3]))).toEqual(step(ones([2, 3]), ones([2, 3])));
  }
  expect(captured.stats().breaks).toEqual([]);
});
