import { describe, expect, it } from 'vitest';
import type { GradNode } from '../../runtime/autograd/node.ts';
import { opTable } from '../../runtime/ops/define-op.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import type { Shape } from '../../runtime/tensor/shape.ts';
import { allocated, expectClose, spread, type Tensor, tensor } from './eager.ts';
import { type GradientCase, gradientCases } from './gradient-cases.ts';

/** Wide enough that float32's rounding doesn't drown the difference. */
const step = 1 / 64;
/** Truncation is of the order step², rounding of 1e-7 / step. */
const tolerance = { relative: 5e-3, absolute: 1e-3 };

function inputValues({ shapes, range = [-1, 1] }: GradientCase): Float32Array[] {
  const [low, high] = range;
  return shapes.map((shape, i) =>
    spread(shape, i).map((value) => low + ((value + 1) / 2) * (high - low)),
  );
}

function inputs(shapes: readonly Shape[], values: readonly Float32Array[], requiresGrad = false) {
  return values.map((own, i) => tensor(own, { shape: shapes[i]!, requiresGrad }));
}

/** Σ weight · output, in double precision. */
function weighed(output: Tensor, weights: Float32Array): number {
  const values = output.dataSync();
  return weights.reduce((total, weight, i) => total + weight * values[i]!, 0);
}

function nodeNames(node: GradNode | undefined, into = new Set<string>()): Set<string> {
  if (!node) return into;
  into.add(node.name);
  for (const target of node.targets) if (target && 'node' in target) nodeNames(target.node, into);
  return into;
}

function checkCase(op: string, example: GradientCase): void {
  const { shapes, run } = example;
  const values = inputValues(example);
  const leaves = inputs(shapes, values, true);
  const output = run(...leaves);
  expect([...nodeNames(output.gradEdge?.node)], `the case runs ${op}`).toContain(op);
  const weights = spread(output.shape, 99);
  output.backward(tensor(weights, { shape: output.shape }));
  values.forEach((own, which) => {
    const differences = own.map((value, i) => {
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
    expectClose(grad!.dataSync(), differences, `${op}, ${example.name}, input ${which}`, tolerance);
    grad!.dispose();
  });
}

describe('gradients equal central differences', () => {
  for (const [op, cases] of Object.entries(gradientCases)) {
    it(op, () => {
      const before = allocated();
      for (const example of cases) tidy(() => checkCase(op, example));
      expect(allocated()).toBe(before);
    });
  }

  it('every op with a gradient has cases', () => {
    const missing = [...opTable.values()].filter(
      // Writes in place are compared with their out-of-place forms.
      ({ name, vjp, inPlace }) => vjp && !inPlace && !gradientCases[name]?.length,
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
