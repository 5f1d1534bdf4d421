/** What a trace knows of a tensor's layout is what the tensor says, at every size that it runs at. */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

/** Of an input, and of results: contiguous, transposed, and a part of another tensor. */
const tensors: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'an input': (x) => x,
  'a result': (x) => x.add(1),
  'a transposed view': (x) => x.t(),
  'a part of a result': (x) => x.add(1).narrow(0, 1, 1),
};

const facts: Readonly<Record<string, (x: Tensor) => number>> = {
  'size()': (x) => x.size().length + x.size()[0]!,
  'size(0)': (x) => x.size(0),
  'size(-1)': (x) => x.size(-1),
  numel: (x) => x.numel(),
  nelement: (x) => x.nelement(),
  nbytes: (x) => x.nbytes,
  itemsize: (x) => x.itemsize + x.elementSize(),
  rank: (x) => x.rank + x.ndim + x.dim() + x.ndimension(),
  strides: (x) => x.strides[0]! + 10 * x.strides[1]!,
  'stride()': (x) => x.stride()[0]! + 10 * x.stride(-1),
  offset: (x) => x.offset + x.storageOffset(),
  isContiguous: (x) => (x.isContiguous ? 1 : 2),
  retainsGrad: (x) => (x.retainsGrad ? 1 : 2),
};

const sizes = [
  [2, 3],
  [3, 3],
  [4, 5],
  [5, 2],
] as const;

describe.each(Object.entries(tensors))('%s', (_name, of) => {
  it.each(Object.entries(facts))('%s', (_fact, fact) => {
    const fn = (x: Tensor) => x.mul(fact(of(x)));
    const captured = toStatic(fn);
    for (const shape of sizes) {
      const x = tensor(
        Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => i + 1),
        { shape },
      );
      expect(captured(x).tolist(), shape.join()).toEqual(fn(x).tolist());
    }
  });
});

it.each(['size(0)', 'numel', 'nelement', 'nbytes'])('%s is one trace for all sizes', (name) => {
  const captured = toStatic((x: Tensor) => x.mul(facts[name]!(x)));
  for (const n of [2, 3, 4, 5, 6]) captured(tensor(new Float32Array(n)));
  expect(captured.stats()).toMatchObject({ translations: 2, breaks: [] });
});

it('a dimension that is not there is the error of eager execution', () => {
  const x = tensor([1, 2]);
  const fn = (own: Tensor) => own.mul(own.size(1));
  expect(() => fn(x)).toThrow('size: no such dimension');
  expect(() => toStatic(fn)(x)).toThrow('size: no such dimension');
});
