import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { opTable } from '../../runtime/ops/op-table.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from './eager.ts';

/** Values of attributes that pointwise ops read; `value` is an exponent, a divisor, a summand. */
const attrs = {
  value: 2.5,
  alpha: 1.5,
  beta: 2,
  threshold: 3,
  negativeSlope: 0.1,
  min: -1,
  max: 1,
  lambd: 0.5,
  nan: 7,
  posinf: 8,
  neginf: -8,
  eps: 1e-6,
};

const specials = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 0.5, -2.5, 3];

/** Ops whose kernel computes each element by an expression, of floating-point operands. */
const pointwiseOps = [...opTable.values()].filter(({ name, kernel, inPlace }) => {
  const ofIntegers = /Int(Scalar)?$|^bitwise|^to[A-Z]/.test(name);
  return kernel.kind === 'pointwise' && !inPlace && !ofIntegers;
});

/** Every special value beside every other. */
function operandsOf(op: OpRecord, dtype: DType): Tensor[] {
  const count = op.operands.length;
  return op.operands.map((_, k) => {
    const shape = Array.from({ length: count }, (_, d) => (d === k ? specials.length : 1));
    return tensor(Float64Array.from(specials), { shape, dtype });
  });
}

function run(op: OpRecord, dtype: DType): number[] {
  return tidy(() => [...noGrad(() => bind1(op, operandsOf(op, dtype), attrs)).dataSync()]);
}

describe('NaN, infinities and zeros come out of float32 kernels as of JavaScript in float64', () => {
  for (const op of pointwiseOps) {
    it(op.name, () => {
      const before = allocated();
      const [single, double] = [run(op, 'float32'), run(op, 'float64')];
      single.forEach((value, i) => {
        const other = double[i]!;
        const same = Object.is(value, other) || value === other;
        const close = Math.abs(value - other) <= 1e-5 + 1e-4 * Math.abs(other);
        // Beyond float32 lies infinity.
        const overflowed = Math.abs(other) > 3.4e38 && value === Math.sign(other) * Infinity;
        if (!same && !close && !overflowed)
          expect.fail(`element ${i} is ${value}, expected ${other}`);
      });
      expect(allocated()).toBe(before);
    });
  }
});

it('NaN has no sign and no side: PyTorch says 0', () => {
  const missing = tensor([NaN]);
  expect(missing.sign().itemSync()).toBeNaN();
  expect(missing.heaviside(tensor([1])).itemSync()).toBeNaN();
  expect(missing.abs().itemSync()).toBeNaN();
});

const gradientOf = (x: Tensor, op: OpRecord, others: readonly Tensor[]) => {
  const out = bind1(op, [x, ...others], attrs);
  if (out.requiresGrad) out.backward(tensor([], { shape: out.shape, dtype: out.dtype }));
  return out;
};

describe('tensors without elements and scalars pass through every pointwise op', () => {
  for (const op of pointwiseOps) {
    it(op.name, () => {
      const before = allocated();
      tidy(() => {
        const others = op.operands.slice(1).map(() => tensor([0.5]));
        const empty = tensor([], { shape: [2, 0], requiresGrad: true });
        const out = gradientOf(empty, op, others);
        expect(out.shape).toEqual([2, 0]);
        expect(empty.grad?.shape ?? [2, 0]).toEqual([2, 0]);
        empty.grad?.dispose();
        const scalars = op.operands.map(() => tensor(0.25));
        expect(noGrad(() => bind1(op, scalars, attrs)).shape).toEqual([]);
      });
      expect(allocated()).toBe(before);
    });
  }
});

describe('reductions of nothing are as in PyTorch', () => {
  const none = () => tensor([], { shape: [0, 3] });
  const cases: Readonly<Record<string, readonly [(x: Tensor) => Tensor, Shape, number[] | null]>> =
    {
      'sum, all': [(x) => x.sum(), [], [0]],
      'sum over the empty dimension': [(x) => x.sum(0), [3], [0, 0, 0]],
      'prod over the empty dimension': [(x) => x.prod(0), [3], [1, 1, 1]],
      mean: [(x) => x.mean(), [], [NaN]],
      variance: [(x) => x.var(), [], [NaN]],
      any: [(x) => x.any(), [], [0]],
      all: [(x) => x.all(), [], [1]],
      norm: [(x) => x.norm(2), [], [0]],
      'logsumexp over the empty dimension': [
        (x) => x.logsumexp(0),
        [3],
        [-Infinity, -Infinity, -Infinity],
      ],
      cumsum: [(x) => x.cumsum(0), [0, 3], []],
      cummax: [(x) => x.cummax(1)[0], [0, 3], []],
      sort: [(x) => x.sort(0)[0], [0, 3], []],
      softmax: [(x) => x.softmax(1), [0, 3], []],
      'softmax along the empty dimension': [(x) => x.softmax(0), [0, 3], []],
      'amax is refused': [(x) => x.amax(0), [], null],
      'argmax is refused': [(x) => x.argmax(0), [], null],
      'median is refused': [(x) => x.median(0)[0], [], null],
    };
  for (const [name, [body, shape, expected]] of Object.entries(cases)) {
    it(name, () => {
      const before = allocated();
      tidy(() => {
        const x = none();
        if (!expected) {
          expect(() => body(x)).toThrow('nothing to choose from');
          return;
        }
        const out = body(x);
        expect(out.shape).toEqual(shape);
        expect([...out.dataSync()]).toEqual(expected);
      });
      expect(allocated()).toBe(before);
    });
  }
});
