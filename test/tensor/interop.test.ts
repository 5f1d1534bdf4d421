import { describe, expect, it } from 'vitest';
import { ShapeError } from '../../runtime/errors/errors.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { type DType, dtypes, newTypedArray } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, tensor } from '../ops/eager.ts';

const all = Object.keys(dtypes) as DType[];

describe.each(all)('%s', (dtype) => {
  it('comes from nested arrays and goes back', async () => {
    const before = allocated();
    using x = tensor(
      [
        [1, 0],
        [1, 1],
        [0, 1],
      ],
      { dtype },
    );
    const rows =
      dtype === 'bool'
        ? [
            [true, false],
            [true, true],
            [false, true],
          ]
        : [
            [1, 0],
            [1, 1],
            [0, 1],
          ];
    expect(x.toArraySync()).toEqual(rows);
    expect(await x.toArray()).toEqual(rows);
    using y = x.t();
    expect(y.toArraySync()).toEqual([0, 1].map((i) => rows.map((row) => row[i])));
    x.dispose();
    y.dispose();
    expect(allocated()).toBe(before);
  });

  it('comes from its typed array and goes back', () => {
    const values = newTypedArray(dtype, 4);
    values.set([1, 0, 1, 1]);
    using x = tensor(values, { dtype, shape: [2, 2] });
    const back = x.dataSync();
    expect(back).toEqual(values);
    expect(back).not.toBe(values);
    expect(back.constructor).toBe(values.constructor);
  });

  it('survives JSON', () => {
    using x = tensor([1, 0], { dtype });
    const read = JSON.parse(JSON.stringify(x));
    expect(read).toMatchObject({ dtype, shape: [2], device: 'cpu', values: x.toArraySync() });
  });
});

describe('JSON', () => {
  it('has texts for what it has no numbers for', () => {
    using x = tensor([
      [1, Number.NaN],
      [Infinity, -Infinity],
    ]);
    expect(JSON.parse(JSON.stringify(x))).toEqual({
      dtype: 'float32',
      shape: [2, 2],
      device: 'cpu',
      requiresGrad: false,
      values: [
        [1, 'NaN'],
        ['Infinity', '-Infinity'],
      ],
      min: 1,
      max: 1,
      mean: 1,
      nan: 1,
      infinite: 2,
    });
  });

  it('sums many values up', () => {
    using x = zeros([1001]);
    expect(x.toJSON()).toMatchObject({ values: null, min: 0, max: 0, mean: 0 });
  });
});

describe('iteration', () => {
  it('goes over views of the first dimension', () => {
    tidy(() => {
      const x = tensor([
        [1, 2],
        [3, 4],
      ]);
      const rows = [...x];
      expect(rows.map((row) => row.toArraySync())).toEqual([
        [1, 2],
        [3, 4],
      ]);
      rows[0]!.fill_(9);
      expect(x.toArraySync()).toEqual([
        [9, 9],
        [3, 4],
      ]);
      const [first, second] = tensor([5, 6]);
      expect([first!.itemSync(), second!.itemSync()]).toEqual([5, 6]);
    });
  });

  it('passes gradients', () => {
    tidy(() => {
      const x = tensor([1, 2, 3], { requiresGrad: true });
      let product = tensor(1);
      for (const entry of x) product = product.mul(entry);
      product.backward();
      expect(x.grad!.toArraySync()).toEqual([6, 3, 2]);
      x.grad!.dispose();
    });
  });

  it('of a scalar is refused', () => {
    using x = tensor(1);
    expect(() => [...x]).toThrow(ShapeError);
  });
});
