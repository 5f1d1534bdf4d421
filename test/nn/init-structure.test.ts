import { describe, expect, it } from 'vitest';
import { init } from '../../runtime/nn/index.ts';
import { conv2d } from '../../runtime/ops/convolution/conv.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { matmul } from '../../runtime/ops/products/matmul.ts';
import { randn } from '../../runtime/ops/random/drawn.ts';
import { seed } from '../../runtime/random/seed.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor } from '../ops/eager.ts';

const values = (x: Tensor) => [...x.dataSync()];
const identity = (n: number) =>
  Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0));

describe('initialisers with a structure', () => {
  it('orthogonal_: rows, or columns where there are fewer', () => {
    const before = allocated();
    tidy(() => {
      seed(1);
      const close = { absolute: 1e-5 };
      const wide = init.orthogonal_(zeros([3, 8]));
      expectClose(values(matmul(wide, wide.transpose(0, 1))), identity(3), 'rows', close);
      const kernel = init.orthogonal_(zeros([20, 2, 3]), 2).flatten(1);
      const products = matmul(kernel.transpose(0, 1), kernel);
      expectClose(
        values(products),
        identity(6).map((own) => 4 * own),
        'columns',
        close,
      );
      seed(1);
      expect(values(init.orthogonal_(zeros([3, 8])))).toEqual(values(wide));
      expect(() => init.orthogonal_(zeros([3]))).toThrow('two dimensions or more');
    });
    expect(allocated()).toBe(before);
  });

  it('eye_ and dirac_ hand on what they get', () => {
    const before = allocated();
    tidy(() => {
      expect(values(init.eye_(randn([2, 3])))).toEqual([1, 0, 0, 0, 1, 0]);
      const x = randn([1, 4, 5, 5]);
      const same = conv2d(x, init.dirac_(randn([4, 4, 3, 3])), null, { padding: 1 });
      expect(values(same)).toEqual(values(x));
      const groups = init.dirac_(randn([4, 2, 3, 3]), 2);
      expect(values(conv2d(x, groups, null, { padding: 1, groups: 2 }))).toEqual(values(x));
      expect(() => init.dirac_(zeros([4, 4]))).toThrow('[out, in, …kernel]');
      expect(() => init.eye_(zeros([4]))).toThrow('a matrix');
    });
    expect(allocated()).toBe(before);
  });

  it('sparse_: a part of each column is 0', () => {
    const before = allocated();
    tidy(() => {
      seed(2);
      const x = init.sparse_(zeros([10, 50]), 0.25, 1);
      expect(values(x.eq(0).to('float32').sum(0))).toEqual(Array(50).fill(3));
      expect(Math.abs(x.std().itemSync() - Math.sqrt(0.7))).toBeLessThan(0.15);
      expect(() => init.sparse_(zeros([2, 2]), 2)).toThrow('sparsity = 2');
    });
    expect(allocated()).toBe(before);
  });
});
