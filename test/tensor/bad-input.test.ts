import { describe, expect, it } from 'vitest';
import { deviceGuard } from '../../runtime/device/current.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { full, zeros } from '../../runtime/ops/movement/create.ts';
import { arange, eye } from '../../runtime/ops/movement/ranges.ts';
import { rand } from '../../runtime/ops/random/drawn.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

interface Mistake {
  readonly make: (x: Tensor) => unknown;
  readonly error: string;
}

const unknown = 'float33' as DType;
const disposed = (): Tensor => {
  const x = zeros([2, 3]);
  x.dispose();
  return x;
};

/** Each gets a [2, 3] tensor, which must be as it was afterwards. */
const mistakes: Readonly<Record<string, Mistake>> = {
  'more than the address space': { make: () => zeros([2 ** 31]), error: 'OutOfMemoryError' },
  'more than numbers count': { make: () => zeros([2 ** 40, 2 ** 40]), error: 'OutOfMemoryError' },
  'an endless size': { make: () => zeros([1e200, 1e200]), error: 'OutOfMemoryError' },
  'random numbers without end': { make: () => rand([2 ** 33]), error: 'OutOfMemoryError' },
  'a range without end': {
    make: () => arange(0, 2 ** 33, 1, { dtype: 'float32' }),
    error: 'OutOfMemoryError',
  },
  'an identity without end': { make: () => eye(2 ** 20), error: 'OutOfMemoryError' },
  'a negative size to expand to': {
    make: (x) => x.unsqueeze(0).expand([-3, 2, 3]),
    error: 'ShapeError',
  },
  'a new size of -1 to expand to': { make: (x) => x.expand([-1, 2, 3]), error: 'ShapeError' },
  'a fractional size to expand to': {
    make: (x) => x.unsqueeze(0).expand([2.5, 2, 3]),
    error: 'ShapeError',
  },
  'numbers of an expanded tensor': {
    make: (x) =>
      x
        .unsqueeze(0)
        .expand([2 ** 30, 2, 3])
        .dataSync(),
    error: 'OutOfMemoryError',
  },
  'a copy of an expanded tensor': {
    make: (x) =>
      x
        .unsqueeze(0)
        .expand([2 ** 30, 2, 3])
        .contiguous(),
    error: 'OutOfMemoryError',
  },
  'a sum with an expanded tensor': {
    make: (x) =>
      x
        .unsqueeze(0)
        .expand([2 ** 30, 2, 3])
        .add(x),
    error: 'OutOfMemoryError',
  },
  'a negative size': { make: () => zeros([2, -1]), error: 'ArgumentError' },
  'a size that is no number': { make: () => zeros([Number.NaN]), error: 'ArgumentError' },
  'a fraction of a size': { make: () => full([1.5], 1), error: 'ArgumentError' },
  'no such dtype': { make: () => zeros([2], { dtype: unknown }), error: 'DTypeError' },
  'no such dtype of data': { make: () => tensor([1], { dtype: unknown }), error: 'DTypeError' },
  'random integers': { make: () => rand([2], { dtype: 'int32' }), error: 'DTypeError' },
  'NaN as an integer': {
    make: () => full([2], Number.NaN, { dtype: 'int32' }),
    error: 'DTypeError',
  },
  'NaN among integers': {
    make: () => tensor([1, Number.NaN], { dtype: 'uint8' }),
    error: 'DTypeError',
  },
  'NaN written to integers': { make: (x) => x.int().fill_(Number.NaN), error: 'DTypeError' },
  'too large for a byte': { make: () => full([2], 256, { dtype: 'uint8' }), error: 'DTypeError' },
  'an index that is no integer': {
    make: (x) => x.gather(1, tensor([[Number.NaN]])),
    error: 'DTypeError',
  },
  'an index out of range': {
    make: (x) => x.gather(1, tensor(new Int32Array([3]), { shape: [1, 1] })),
    error: 'ArgumentError',
  },
  'a negative place': {
    make: (x) => x.indexSelect(0, tensor(new Int32Array([-1]))),
    error: 'ArgumentError',
  },
  'a truth value less another': { make: (x) => x.bool().sub(x.bool()), error: 'DTypeError' },
  'a mean of integers': { make: (x) => x.int().mean(), error: 'DTypeError' },
  'a gradient of integers': { make: (x) => x.int().requiresGrad_(), error: 'DTypeError' },
  'a product of two dtypes': { make: (x) => x.matmul(x.double().t()), error: 'DTypeError' },
  'shapes that do not broadcast': { make: (x) => x.add(zeros([4])), error: 'ShapeError' },
  'another device': {
    make: (x) => x.add(deviceGuard('meta', () => zeros([2, 3]))),
    error: 'DeviceError',
  },
  'a write from another device': {
    make: (x) => x.add_(deviceGuard('meta', () => zeros([2, 3]))),
    error: 'DeviceError',
  },
  'no such device': { make: (x) => x.to('gpu9'), error: 'DeviceError' },
  'a disposed operand': { make: (x) => x.add(disposed()), error: 'DisposedError' },
  'a write of a disposed operand': { make: (x) => x.copy_(disposed()), error: 'DisposedError' },
  'a read of a disposed tensor': { make: () => disposed().dataSync(), error: 'DisposedError' },
  'text as data': { make: () => tensor('1' as unknown as number), error: 'ArgumentError' },
  'rows of different lengths': { make: () => tensor([[1], [2, 3]]), error: 'ShapeError' },
  'a shape of another size': { make: () => tensor([1, 2, 3], { shape: [2] }), error: 'ShapeError' },
  'bits of no named dtype': { make: () => tensor(new Uint16Array(1)), error: 'ArgumentError' },
};

describe('a mistake is a named error, and nothing is allocated or changed', () => {
  for (const [name, { make, error }] of Object.entries(mistakes)) {
    it(name, () => {
      using x = tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const before = allocated();
      let caught: unknown;
      try {
        tidy(() => void make(x));
      } catch (thrown) {
        caught = thrown;
      }
      expect(caught).toBeInstanceOf(TostaticError);
      expect((caught as TostaticError).name).toBe(error);
      expect((caught as TostaticError).remedy).not.toBe('');
      expect(allocated()).toBe(before);
      expect([...x.dataSync()]).toEqual([1, 2, 3, 4, 5, 6]);
    });
  }
});
