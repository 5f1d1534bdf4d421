import { describe, expect, it } from 'vitest';
import { grad } from '../../runtime/backward/grad.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { AutogradError } from '../../runtime/errors/errors.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { E } from '../../runtime/ops/expr/expr.ts';
import { defineOp, saving } from '../../runtime/ops/record/define-op.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type GradientCase, gradientCases } from '../ops/cases/gradient-cases.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from '../ops/eager.ts';

/** Small, so as not to step over a kink; float32's rounding of a gradient, 1e-7 / step, allows it. */
const step = 1 / 256;
const tolerance = { relative: 1e-2, absolute: 2e-3 };

/** The inputs, no two of one value, and the gradient to start with: first gradients depend on both. */
function variables(example: GradientCase): Variable[] {
  const [low, high] = example.range ?? [-1, 1];
  const inputs = example.shapes.map((shape, i) => ({
    shape,
    values: spread(shape, i).map((value) => low + ((value + 1) / 2) * (high - low) + i / 50),
  }));
  const { shape } = tidy(() => example.run(...leavesOf(inputs)));
  return [...inputs, { shape, values: spread(shape, 99) }];
}

interface Variable {
  readonly shape: Shape;
  readonly values: Float32Array;
}

const leavesOf = (all: readonly Variable[]): Tensor[] =>
  all.map(({ shape, values }) => tensor(values, { shape, requiresGrad: true }));

function firstGradients(example: GradientCase, leaves: readonly Tensor[], createGraph: boolean) {
  const inputs = leaves.slice(0, -1);
  return grad(example.run(...inputs), inputs, { gradOutputs: leaves.at(-1)!, createGraph });
}

const weightsOf = (shape: Shape, which: number) => spread(shape, 50 + which);

/** Σ weight · gradient over all inputs, in double precision. */
function weighedGradients(example: GradientCase, at: readonly Variable[]): number {
  return tidy(() => {
    let total = 0;
    firstGradients(example, leavesOf(at), false).forEach((own, which) => {
      const weights = weightsOf(own.shape, which);
      own.dataSync().forEach((value, i) => {
        total += weights[i]! * value;
      });
    });
    return total;
  });
}

function secondGradients(example: GradientCase, leaves: readonly Tensor[]): (Tensor | null)[] {
  const first = firstGradients(example, leaves, true);
  const weights = first.map(({ shape }, i) => tensor(weightsOf(shape, i), { shape }));
  return grad(first, leaves, { gradOutputs: weights, allowUnused: true });
}

function checkCase(op: string, example: GradientCase): void {
  const all = variables(example);
  const found = secondGradients(example, leavesOf(all));
  all.forEach(({ values }, which) => {
    const differences = values.map((value, i) => {
      const at = (x: number) => {
        const moved = all.map((own) => ({ ...own, values: own.values.slice() }));
        moved[which]!.values[i] = x;
        return weighedGradients(example, moved);
      };
      return (at(value + step) - at(value - step)) / (2 * step);
    });
    const actual = found[which]?.dataSync() ?? new Float32Array(values.length);
    expectClose(actual, differences, `${op}, ${example.name}, variable ${which}`, tolerance);
  });
}

describe('gradients of gradients equal central differences of the gradients', () => {
  for (const [op, cases] of Object.entries(gradientCases)) {
    it(op, () => {
      const before = allocated();
      for (const example of cases) tidy(() => checkCase(op, example));
      expect(allocated()).toBe(before);
    });
  }

  it('of no elements are 0', () => {
    tidy(() => {
      const x = tensor([], { shape: [0, 3], requiresGrad: true });
      const start = tensor([1, 2, 3], { requiresGrad: true });
      const first = grad(x.logsumexp(0), x, { gradOutputs: start, createGraph: true });
      const [ofX, ofStart] = grad(first[0]!.sum(), [x, start], { allowUnused: true });
      expect(ofX?.shape ?? [0, 3]).toEqual([0, 3]);
      expect([...ofStart!.dataSync()]).toEqual([0, 0, 0]);
    });
  });

  it('an op whose gradient is computed by one without gradient is refused by name', () => {
    const copies = {
      operands: { x: 'data' },
      infer: ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape }),
      kernel: { kind: 'pointwise', expr: E.input(0) },
    } as const;
    const opaqueGrad = defineOp({ name: 'opaqueGrad', ...copies });
    const opaque = defineOp({
      name: 'opaque',
      ...copies,
      vjp: { x: saving({}, (_saved, dy) => bind1(opaqueGrad, [dy])) },
    });
    tidy(() => {
      const x = tensor([1], { requiresGrad: true });
      const y = bind1(opaque, [x]);
      const options = { gradOutputs: x, createGraph: true };
      expect(() => grad(y, x, options)).toThrow(AutogradError);
      expect(() => grad(y, x, options)).toThrow(
        'opaqueGrad: its gradient cannot be differentiated again',
      );
      expect([...grad(y, x)[0]!.dataSync()]).toEqual([1]);
    });
  });
});
