import { describe, expect, it } from 'vitest';
import { full } from '../../runtime/ops/movement/create.ts';
import { arange } from '../../runtime/ops/movement/ranges.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { toStatic } from '../../src/index.ts';
import { type Tensor, tensor } from '../ops/eager.ts';

const bytes = (...values: number[]): Tensor => tensor(new Uint8Array(values));
const values = (x: Tensor): number[] => [...x.dataSync()];

describe('uint8', () => {
  it('is what a Uint8Array holds', () => {
    tidy(() => {
      const x = bytes(0, 7, 255);
      expect(x.dtype).toBe('uint8');
      expect(x.dataSync()).toBeInstanceOf(Uint8Array);
      expect(values(x)).toEqual([0, 7, 255]);
    });
  });

  it('is what the bytes of an image in a page are, eagerly and captured', () => {
    const image = new Uint8ClampedArray([9, 300, -5, 7]).subarray(1);
    const make = () => tensor(image, { shape: [3, 1] });
    for (const made of [make(), toStatic(make)()]) {
      expect(made).toMatchObject({ dtype: 'uint8', shape: [3, 1] });
      expect(values(made)).toEqual([255, 0, 7]);
    }
    expect(values(tensor(image, { dtype: 'float32' }))).toEqual([255, 0, 7]);
    expect(values(tensor([1]).newTensor(image))).toEqual([255, 0, 7]);
  });

  it('wraps around, as in PyTorch', () => {
    tidy(() => {
      const x = bytes(0, 1, 200, 255);
      expect(values(x.add(1))).toEqual([1, 2, 201, 0]);
      expect(values(x.sub(1))).toEqual([255, 0, 199, 254]);
      expect(values(x.mul(2))).toEqual([0, 2, 144, 254]);
      expect(values(x.neg())).toEqual([0, 255, 56, 1]);
      expect(values(x.pow(2))).toEqual([0, 1, 64, 1]);
      expect(values(x.add(x))).toEqual([0, 2, 144, 254]);
      expect(values(x.clone().add_(3))).toEqual([3, 4, 203, 2]);
      expect(x.add(1).dtype).toBe('uint8');
    });
  });

  it('joins wider dtypes and divides as float32', () => {
    tidy(() => {
      const x = bytes(10, 7);
      expect(x.add(tensor(new Int32Array([300, -8]))).dtype).toBe('int32');
      expect(x.add(0.5).dtype).toBe('float32');
      expect(values(x.div(2))).toEqual([5, 3.5]);
      expect(values(x.floorDivide(2))).toEqual([5, 3]);
      expect(x.floorDivide(2).dtype).toBe('uint8');
      expect(values(x.remainder(4))).toEqual([2, 3]);
      expect(values(x.bool().add(x))).toEqual([11, 8]);
    });
  });

  it('sums as int32', () => {
    tidy(() => {
      const x = full([100], 250, { dtype: 'uint8' });
      expect(x.sum().dtype).toBe('int32');
      expect(x.sum().itemSync()).toBe(25_000);
      expect(x.cumsum(0).dtype).toBe('int32');
    });
  });

  it('compares and orders as numbers', () => {
    tidy(() => {
      const x = bytes(200, 3, 130);
      expect(values(x.gt(128))).toEqual([1, 0, 1]);
      expect(values(x.gt(-1))).toEqual([1, 1, 1]);
      expect(values(x.argsort())).toEqual([1, 2, 0]);
      expect(values(x.sort()[0])).toEqual([3, 130, 200]);
      expect(x.amax().itemSync()).toBe(200);
    });
  });

  it('takes the lowest 8 bits of what is cast to it', () => {
    tidy(() => {
      expect(values(tensor([257.9, -1, 3.7]).byte())).toEqual([1, 255, 3]);
      expect(values(arange(250, 260, 1, { dtype: 'uint8' })).slice(5)).toEqual([255, 0, 1, 2, 3]);
    });
  });

  it('holds 0 to 255: other numbers are refused where a tensor is made', () => {
    expect(() => tensor([256], { dtype: 'uint8' })).toThrow('a number that uint8 does not hold');
    expect(() => tensor([Number.NaN], { dtype: 'int32' })).toThrow('does not hold');
    expect(() => tensor(new Float32Array([3e9]), { dtype: 'int32' })).toThrow('does not hold');
  });
});
