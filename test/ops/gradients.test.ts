import { describe, expect, it } from 'vitest';
import { opTable } from '../../runtime/ops/op-table.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import type { GradNode } from '../../runtime/tensor/grad-node.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { type GradientCase, gradientCases } from './cases/gradient-cases.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from './eager.ts';

/**
 * The step is wide enough that rounding doesn't drown the difference. Truncation is of the order step²,
 * rounding of 1e-7 / step, in float64 of 1e-16 / step.
 */
const precisions = {
  float32: { step: 1 / 64, relative: 5e-3, absolute: 1e-3 },
  float64: { step: 2 ** -17, relative: 1e-7, absolute: 1e-8 },
} as const;

type Values = Float32Array | Float64Array;

function inputValues({ shapes, range = [-1, 1] }: GradientCase): Float32Array[] {
  const [low, high] = range;
  return shapes.map((shape, i) =>
    spread(shape, i).map((value) => low + ((value + 1) / 2) * (high - low)),
  );
}

function inputs(shapes: readonly Shape[], values: readonly Values[], requiresGrad = false) {
  return values.map((own, i) => tensor(own, { shape: shapes[i]!, requiresGrad }));
}

/** Σ weight · output, in double precision. */
function weighed(output: Tensor, weights: Values): number {
  const values = output.dataSync();
  let total = 0;
  weights.forEach((weight, i) => {
    total += weight * values[i]!;
  });
  return total;
}

function nodeNames(node: GradNode | undefined, into = new Set<string>()): Set<string> {
  if (!node) return into;
  into.add(node.name);
  for (const target of node.targets) if (target && 'node' in target) nodeNames(target.node, into);
  return into;
}

function checkCase(op: string, example: GradientCase, precision: keyof typeof precisions): void {
  const { shapes, run } = example;
  const { step, ...tolerance } = precisions[precision];
  const arrayType = precision === 'float64' ? Float64Array : Float32Array;
  const values: Values[] = inputValues(example).map((own) => arrayType.from(own));
  const leaves = inputs(shapes, values, true);
  const output = run(...leaves);
  expect([...nodeNames(output.gradEdge?.node)], `the case runs ${op}`).toContain(op);
  const weights: Values = arrayType.from(spread(output.shape, 99));
  output.backward(tensor(weights, { shape: output.shape }));
  values.forEach((own, which) => {
    const differences = Array.from(own, (value, i) => {
      const at = (x: number) =>
        tidy(() => {
          const moved = values.map((other) => other.slice());
          moved[which]![i] = x;
          return weighed(run(...inputs(shapes, moved)), weights);
        });
      return (at(value + step) - at(value - step)) / (2 * step);
    });
    const { grad } = leaves[which]!;
    expect(grad!.shape).toEqual(shapes[which]);
    expect(grad!.dtype).toBe(precision);
    expectClose(grad!.dataSync(), differences, `${op}, ${example.name}, input ${which}`, tolerance);
    grad!.dispose();
  });
}

/** Ops whose result is float32 whatever they are given. */
const single = new Set(['toFloat32', 'toFloat16', 'toBfloat16']);

describe.each(['float32', 'float64'] as const)(
  'gradients equal central differences in %s',
  (precision) => {
    for (const [op, cases] of Object.entries(gradientCases)) {
      if (precision === 'float64' && single.has(op)) continue;
      it(op, () => {
        const before = allocated();
        for (const example of cases) tidy(() => checkCase(op, example, precision));
        expect(allocated()).toBe(before);
      });
    }
  },
);

/** Their gradients are errors, which test/distributions expects. */
const refusing = new Set(['gammaSlope']);

describe('gradients', () => {
  it('every op with a gradient has cases', () => {
    const missing = [...opTable.values()].filter(
      // Writes in place are compared with their out-of-place forms.
      ({ name, vjp, inPlace }) =>
        vjp && !inPlace && !refusing.has(name) && !gradientCases[name]?.length,
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
