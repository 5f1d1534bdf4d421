import { describe, expect, it } from 'vitest';
import { ArgumentError, DTypeError, ShapeError } from '../../runtime/errors/errors.ts';
import { arange } from '../../runtime/ops/movement/ranges.ts';
import * as ops from '../../runtime/ops/pointwise/pointwise.ts';
import { linear } from '../../runtime/ops/products/matmul.ts';
import { tensordot } from '../../runtime/ops/products/products.ts';
import { max, min } from '../../runtime/ops/reduce/extremes.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type Tensor, tensor } from './eager.ts';

const values = (x: Tensor) => [...x.dataSync()];
const floats = () => tensor([1.5, -2, 3]);
const ints = () => tensor(Int32Array.of(7, -7, 3));
const bools = () => tensor([true, false, true]);

function dtypeOf(make: () => Tensor): string {
  return tidy(() => make().dtype);
}

describe('dtypes follow PyTorch', () => {
  const expected: readonly (readonly [string, () => Tensor, string])[] = [
    ['minimum of int32 and float32', () => ints().minimum(floats()), 'float32'],
    ['minimum of bool and int32', () => bools().minimum(ints()), 'int32'],
    ['floorDivide of int32', () => ints().floorDivide(2), 'int32'],
    ['floorDivide of int32 by a fraction', () => ints().floorDivide(0.5), 'float32'],
    ['div of int32', () => ints().div(2), 'float32'],
    ['rounded div of int32', () => ints().div(2, { roundingMode: 'trunc' }), 'int32'],
    ['remainder of bool and int32', () => bools().remainder(ints()), 'int32'],
    ['int32 to a whole power', () => ints().pow(2), 'int32'],
    ['int32 to a fraction', () => ints().pow(0.5), 'float32'],
    ['int32 to float32', () => ints().pow(floats()), 'float32'],
    ['a number to int32', () => ops.pow(2, ints()), 'int32'],
    ['a fraction to int32', () => ops.pow(0.5, ints()), 'float32'],
    ['exp of int32', () => ints().expm1(), 'float32'],
    ['sin of bool', () => bools().sin(), 'float32'],
    ['atan2 of int32', () => ints().atan2(ints()), 'float32'],
    ['gelu of int32', () => ints().gelu(), 'float32'],
    ['floor of int32', () => ints().floor(), 'int32'],
    ['clamp of int32 by integers', () => ints().clamp(0, 5), 'int32'],
    ['clamp of int32 by a fraction', () => ints().clamp(0.5), 'float32'],
    ['isnan of int32', () => ints().isnan(), 'bool'],
    ['logicalAnd of float32 and bool', () => floats().logicalAnd(bools()), 'bool'],
    ['maskedFill of int32 with a fraction', () => ints().maskedFill(bools(), 0.5), 'int32'],
    ['arange of whole numbers', () => arange(1, 7, 2), 'int32'],
    ['arange of whole numbers as asked for', () => arange(3, { dtype: 'float64' }), 'float64'],
    ['arange by a fraction', () => arange(0, 1, 0.25), 'float32'],
    ['where of two whole numbers', () => ops.where(bools(), 1, 0), 'int32'],
    ['where of a fraction and a whole number', () => ops.where(bools(), 1.5, 0), 'float32'],
    ['where of int32 and a fraction', () => ops.where(bools(), ints(), 0.5), 'float32'],
    ['floatPower of int32', () => ints().floatPower(2), 'float64'],
    ['floatPower of float32', () => floats().floatPower(2), 'float64'],
    ['where of a number and int32', () => ops.where(bools(), 1, ints()), 'int32'],
    ['prod of bool', () => bools().prod(), 'int32'],
    ['cumsum of bool', () => bools().cumsum(0), 'int32'],
    ['any of float32', () => floats().any(), 'bool'],
    ['countNonzero', () => floats().countNonzero(), 'int32'],
    ['argmin', () => floats().argmin(), 'int32'],
    ['amin of int32', () => ints().amin(), 'int32'],
  ];
  for (const [name, make, dtype] of expected) {
    it(`${name}: ${dtype}`, () => {
      expect(dtypeOf(make)).toBe(dtype);
    });
  }
});

describe('integers', () => {
  it('divide and remain with the signs of Python or of C', () => {
    tidy(() => {
      expect(values(ints().floorDivide(2))).toEqual([3, -4, 1]);
      expect(values(ints().div(2, { roundingMode: 'trunc' }))).toEqual([3, -3, 1]);
      expect(values(ints().remainder(4))).toEqual([3, 1, 3]);
      expect(values(ints().remainder(-4))).toEqual([-1, -3, -1]);
      expect(values(ints().fmod(4))).toEqual([3, -3, 3]);
      expect(values(ints().floorDivide(0))).toEqual([0, 0, 0]);
    });
  });

  it('rise to powers exactly, also beyond 2^24', () => {
    tidy(() => {
      const x = tensor(Int32Array.of(3, -5, 46340, 0));
      expect(values(x.pow(2))).toEqual([9, 25, 2147395600, 0]);
      expect(values(tensor(Int32Array.of(3)).pow(19))).toEqual([1162261467]);
      expect(values(ops.pow(-3, tensor(Int32Array.of(0, 1, 19))))).toEqual([1, -3, -1162261467]);
      expect(values(x.pow(0))).toEqual([1, 1, 1, 1]);
    });
  });

  it('have no negative powers', () => {
    expect(() => ints().pow(-1)).toThrow(ArgumentError);
  });
});

describe('edges', () => {
  it('any, all, prod and sums of nothing', () => {
    tidy(() => {
      const none = tensor(new Float32Array(0), { shape: [0, 2] });
      expect(values(none.any(0))).toEqual([0, 0]);
      expect(values(none.all(0))).toEqual([1, 1]);
      expect(values(none.prod())).toEqual([1]);
      expect(values(none.cumsum(0))).toEqual([]);
      expect(() => none.amin(0)).toThrow(ShapeError);
      expect(() => none.argmin()).toThrow(ShapeError);
    });
  });

  it('NaN is both the largest and the smallest', () => {
    tidy(() => {
      const x = tensor([
        [1, NaN, 3],
        [4, 2, 4],
      ]);
      const [values0, places] = x.max(1);
      expect(values(values0)).toEqual([NaN, 4]);
      expect(values(places)).toEqual([1, 0]);
      expect(values(min(x, 1)[0])).toEqual([NaN, 2]);
      expect(values(max(x, tensor([2, 2, 2])))).toEqual([2, NaN, 3, 4, 2, 4]);
      expect(values(x.clamp(2, 3))).toEqual([2, NaN, 3, 3, 2, 3]);
    });
  });

  it('max along a dimension gives the gradient to the place it names, amax to all equal ones', () => {
    const x = tensor([[2, 2, 1]], { requiresGrad: true });
    tidy(() => {
      x.max(1)[0].sum().backward();
      expect(values(x.grad!)).toEqual([1, 0, 0]);
      x.grad!.dispose();
      x.grad = null;
      x.amax(1).sum().backward();
      expect(values(x.grad!)).toEqual([0.5, 0.5, 0]);
    });
    x.grad!.dispose();
    x.dispose();
  });

  it('products with zeros have gradients', () => {
    const gradient = (run: (x: Tensor) => Tensor) => {
      const x = tensor(
        [
          [2, 0, 3],
          [0, 0, 5],
        ],
        { requiresGrad: true },
      );
      const found = tidy(() => {
        run(x).sum().backward();
        return values(x.grad!);
      });
      x.grad!.dispose();
      x.dispose();
      return found;
    };
    expect(gradient((x) => x.prod(1))).toEqual([0, 6, 0, 0, 0, 0]);
    expect(gradient((x) => x.cumprod(1))).toEqual([1, 2 + 6, 0, 1, 0, 0]);
    expect(gradient((x) => x.norm(2, 0))[1]).toBe(0);
  });

  it('logsumexp and softmax of infinities', () => {
    tidy(() => {
      const x = tensor([
        [-Infinity, -Infinity],
        [Infinity, 0],
        [1000, 1000],
      ]);
      const [none, all, large] = values(x.logsumexp(1));
      expect([none, all]).toEqual([-Infinity, Infinity]);
      expect(large).toBeCloseTo(1000 + Math.LN2, 3);
    });
  });

  it('cumsum adds up a long row without losing it', () => {
    tidy(() => {
      const x = tensor(new Float32Array(100_000).fill(0.1));
      expect(values(x.cumsum(0)).at(-1)).toBeCloseTo(100_000 * Math.fround(0.1), 2);
    });
  });

  it('clamp wants a bound, functions of real numbers keep their names in errors', () => {
    for (const name of ['clamp', 'clamp_'] as const) {
      expect(() => floats()[name]()).toThrow(`${name}: no bound`);
    }
    expect(() => ints().mean()).toThrow(DTypeError);
    expect(() => floats().logicalAnd(3 as unknown as Tensor)).toThrow(/logicalAnd/);
  });
});

describe('positive', () => {
  it('is the tensor itself, with the sign of zero', () => {
    const x = tensor([-0, 1]);
    expect(x.positive()).toBe(x);
    expect(Object.is(x.positive().dataSync()[0], -0)).toBe(true);
  });

  it('rejects booleans, as PyTorch does', () => {
    expect(() => bools().positive()).toThrow(DTypeError);
  });
});

describe('operands as in PyTorch', () => {
  const grid = () => tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] });

  it('narrow counts a negative start from the end', () => {
    for (const size of [1, 2, 3]) {
      for (let start = -3; start <= 3 - size; start++) {
        const from = start < 0 ? start + 3 : start;
        if (from + size > 3) expect(() => grid().narrow(1, start, size)).toThrow(ArgumentError);
        else
          expect(values(grid().narrow(1, start, size))).toEqual(
            values(grid().slice(1, from, from + size)),
          );
      }
    }
    expect(() => grid().narrow(1, -4, 1)).toThrow('a start from -3 to 2');
  });

  it('linear takes one row of weights without a dimension', () => {
    const [x, weight] = [grid().requiresGrad_(), tensor([1, 0, -1]).requiresGrad_()];
    const y = linear(x, weight, tensor(0.5));
    expect([y.shape, values(y)]).toEqual([[2], [-1.5, -1.5]]);
    y.sum().backward();
    expect([values(weight.grad!), values(x.grad!)]).toEqual([
      [5, 7, 9],
      [1, 0, -1, 1, 0, -1],
    ]);
  });

  it('tensordot sums over dimensions that meet a single entry', () => {
    const one = tensor([2], { shape: [1, 1] });
    expect(values(tensordot(one, grid(), [[1], [0]]))).toEqual([10, 14, 18]);
    expect(values(tensordot(grid(), one, [[1], [0]]))).toEqual([12, 30]);
    expect(values(tensordot(grid(), one, 2))).toEqual([42]);
    expect(() => tensordot(grid(), grid(), [[1], [0]])).toThrow(ShapeError);
  });

  it('logit keeps the lower of two bounds that cross', () => {
    const [low, high] = [Math.log(0.75 / 0.25), Math.log(0.25 / 0.75)];
    const found = values(tensor([0.1, 0.5, 0.7, 0.8]).logit(0.75));
    [low, low, low, high].forEach((own, i) => {
      expect(found[i]).toBeCloseTo(own, 6);
    });
  });

  it('an entry that indexFill fills twice has one gradient', () => {
    const value = tensor(7).requiresGrad_();
    const filled = grid().indexFill(1, tensor([2, 0, 2], { dtype: 'int32' }), value);
    expect(values(filled)).toEqual([7, 2, 7, 7, 5, 7]);
    filled.mul(grid()).sum().backward();
    expect(values(value.grad!)).toEqual([1 + 3 + 4 + 6]);
  });
});
