import { describe, expect, it } from 'vitest';
import { floatStorage, typedStorage } from '../../runtime/device/gpu/core/element-storage.ts';
import { linspace } from '../../runtime/ops/movement/ranges.ts';
import { linear } from '../../runtime/ops/products/matmul.ts';
import { rand, randn } from '../../runtime/ops/random/drawn.ts';
import { SGD } from '../../runtime/optim/sgd.ts';
import { seed } from '../../runtime/random/seed.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, expectClose, type Tensor, tensor } from '../ops/eager.ts';

const double = (...values: number[]): Tensor => tensor(new Float64Array(values));
const close = { relative: 1e-14, absolute: 1e-15 };

describe('float64', () => {
  it('goes in and out of typed arrays without rounding', () => {
    using x = double(0.1, Math.PI, 1e300, 5e-324, Number.NaN);
    expect(x.dtype).toBe('float64');
    const values = x.dataSync();
    expect(values).toBeInstanceOf(Float64Array);
    expect([...values]).toEqual([0.1, Math.PI, 1e300, 5e-324, Number.NaN]);
    using nested = tensor([[0.1], [0.2]], { dtype: 'float64' });
    expect([...nested.dataSync()]).toEqual([0.1, 0.2]);
  });

  it('takes 8 bytes an element', () => {
    const before = allocated();
    using _x = tensor(new Float64Array(64));
    expect(allocated() - before).toBe(512);
  });

  it('joins other dtypes as the widest', () => {
    tidy(() => {
      const x = double(0.1, 0.2);
      expect(x.add(tensor([1, 2])).dtype).toBe('float64');
      expect(x.add(tensor(new Int32Array([1, 2]))).dtype).toBe('float64');
      expect([...x.add(1).dataSync()]).toEqual([1.1, 1.2]);
      expect([...x.mul(0.1).dataSync()]).toEqual([0.1 * 0.1, 0.2 * 0.1]);
      expect(x.gt(0.15).dtype).toBe('bool');
      expect([...x.gt(0.15).dataSync()]).toEqual([0, 1]);
      expect([...x.eq(0.1).dataSync()]).toEqual([1, 0]);
    });
  });

  it('functions have the digits of float64', () => {
    const values = [-3.1, -0.7, -1e-9, 0, 1e-9, 0.3, 0.9, 2.6, 5.9];
    tidy(() => {
      const x = double(...values);
      for (const name of ['exp', 'expm1', 'sin', 'cos', 'tanh', 'sinh', 'asinh', 'atan'] as const) {
        expectClose(x[name]().dataSync(), values.map(Math[name]), name, close);
      }
    });
    tidy(() => {
      // From tables: erf(0.5), erf(2), erfc(0.5), erfc(3), erfc(10).
      const erf = double(0.5, 2).erf().dataSync();
      expectClose(erf, [0.5204998778130465, 0.9953222650189527], 'erf', close);
      const erfc = double(0.5, 3, 10).erfc().dataSync();
      const exact = [0.4795001221869535, 2.209049699858544e-5, 2.088487583762545e-45];
      expectClose(erfc, exact, 'erfc', { relative: 2e-14, absolute: 0 });
    });
  });

  it('casts by rounding, and back without', () => {
    tidy(() => {
      const x = double(0.1, -2.7, 3e9);
      expect([...x.float().dataSync()]).toEqual([0.1, -2.7, 3e9].map(Math.fround));
      expect([...x.int().dataSync()]).toEqual([0, -2, 2 ** 31 - 1]);
      expect([...x.bool().dataSync()]).toEqual([1, 1, 1]);
      expect([...tensor([0.5]).double().dataSync()]).toEqual([0.5]);
      expect(x.double()).toBe(x);
    });
  });

  it('gradients pass casts in the dtype of each side', () => {
    tidy(() => {
      const x = tensor([1, 2], { requiresGrad: true });
      x.double().mul(0.1).sum().backward();
      expect(x.grad!.dtype).toBe('float32');
      expectClose(x.grad!.dataSync(), [0.1, 0.1], 'gradient');
    });
  });

  it('trains: parameters, gradients and state stay float64', () => {
    const before = allocated();
    const w = tensor(new Float64Array(6), { shape: [2, 3], requiresGrad: true });
    const x = tensor(
      Float64Array.from({ length: 12 }, (_, i) => Math.sin(i)),
      { shape: [4, 3] },
    );
    const optimizer = new SGD([w], { lr: 0.1, momentum: 0.9 });
    for (let step = 0; step < 5; step++) {
      tidy(() => linear(x, w).sub(1).square().mean().backward());
      optimizer.step();
      optimizer.zeroGrad();
    }
    expect(w.dtype).toBe('float64');
    expect(w.dataSync().some((v) => v !== Math.fround(v))).toBe(true);
    for (const list of Object.values(optimizer.stateDict().state)) {
      for (const state of list) expect(state.dtype).toBe('float64');
    }
    optimizer.dispose();
    w.grad?.dispose();
    w.dispose();
    x.dispose();
    expect(allocated()).toBe(before);
  });

  it('random numbers have 53 bits and depend on the seed alone', () => {
    tidy(() => {
      seed(7);
      const x = rand([1000], { dtype: 'float64' });
      expect(x.dtype).toBe('float64');
      const values = [...x.dataSync()];
      expect(values.every((v) => v >= 0 && v < 1)).toBe(true);
      expect(values.some((v) => v * 2 ** 53 === Math.round(v * 2 ** 53))).toBe(true);
      expect(values.filter((v) => Math.fround(v) === v).length).toBeLessThan(5);
      const next = rand([1]).dataSync()[0];
      seed(7);
      rand([2000]);
      expect(rand([1]).dataSync()[0]).toBe(next);
      const normal = randn([4000], { dtype: 'float64' }).dataSync() as Float64Array;
      const mean = normal.reduce((a, b) => a + b) / 4000;
      expect(Math.abs(mean)).toBeLessThan(0.06);
      expect(normal.reduce((a, b) => a + b * b, 0) / 4000).toBeCloseTo(1, 0);
    });
  });

  it('sums to the digits of float64, sorts and ranges', () => {
    tidy(() => {
      const x = tensor(new Float64Array(100_000).fill(0.1));
      expectClose(x.sum().dataSync(), [10_000], 'sum', { relative: 1e-13, absolute: 0 });
      const y = double(0.1 + 1e-12, Number.NaN, 0.1, -Infinity, Infinity);
      expect([...y.argsort().dataSync()]).toEqual([3, 2, 0, 4, 1]);
      expect([...y.argsort(0, true).dataSync()]).toEqual([1, 4, 0, 2, 3]);
      expect([...linspace(0, 1, 11, { dtype: 'float64' }).dataSync()][3]).toBeCloseTo(0.3, 15);
    });
  });

  it('is refused on a GPU by name', () => {
    for (const storage of [typedStorage, floatStorage]) {
      expect(() => storage.bytesOf('float64')).toThrow('float64 is not available on the GPU');
    }
  });
});
