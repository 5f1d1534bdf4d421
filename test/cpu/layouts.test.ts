/** Bits of results and gradients depend on the values of operands alone, not on how these lie in memory. */

import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { bind } from '../../runtime/ops/core/bind.ts';
import { opNamed } from '../../runtime/ops/op-table.ts';
import type { Shape } from '../../runtime/spec/shape.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { forwardCases } from '../ops/cases/forward-cases.ts';
import { tensorOf, valuesOf } from '../ops/cases/forward-dtypes.ts';
import { gradientCases } from '../ops/cases/gradient-cases.ts';
import { spread, type Tensor, tensor } from '../ops/eager.ts';

type Layout = (x: Tensor) => Tensor;

const reversed = (x: Tensor): Tensor => x.permute(x.shape.map((_, d) => x.rank - 1 - d));

/** The same elements in other places. */
const layouts: Readonly<Record<string, Layout>> = {
  transposed: (x) => reversed(reversed(x).clone()),
  'part of a larger one': (x) =>
    x
      .expand([2, ...x.shape])
      .clone()
      .select(0, 1),
  'every other element': (x) =>
    x
      .unsqueeze(-1)
      .expand([...x.shape, 2])
      .clone()
      .select(-1, 1),
  'part of a transposed one': (x) =>
    reversed(
      reversed(x)
        .unsqueeze(-1)
        .expand([...x.shape.toReversed(), 3])
        .clone()
        .select(-1, 2),
    ),
};

function bitsOf(x: Tensor): number[] {
  const { buffer, byteOffset, byteLength } = x.contiguous().dataSync();
  return [...new Uint8Array(buffer, byteOffset, byteLength)];
}

describe.each(Object.entries(layouts))('cpu/layouts: operands that are %s', (_name, layout) => {
  it('make the same results', () => {
    let strided = 0;
    for (const [name, examples] of Object.entries(forwardCases)) {
      examples.forEach(({ inputs, attrs = {} }, i) => {
        const results = [(x: Tensor) => x, layout].map((placed) =>
          tidy(() => {
            const operands = inputs.map((input, k) => placed(tensorOf(input, valuesOf(input, k))));
            if (operands.some((x) => !x.isContiguous || x.offset > 0)) strided++;
            return noGrad(() => bind(opNamed(name), operands, attrs)).map(bitsOf);
          }),
        );
        expect(results[1], `${name}, example ${i}`).toEqual(results[0]);
      });
    }
    expect(strided).toBeGreaterThan(50);
  });

  it('make the same products and sums of any size', () => {
    const [m, k, n] = [67, 1030, 70];
    const operands: Readonly<Record<string, [Shape[], (...x: Tensor[]) => Tensor]>> = {
      matmul: [
        [
          [m, k],
          [k, n],
        ],
        (a, b) => a!.matmul(b!),
      ],
      'matrix times vector': [[[m, k], [k]], (a, b) => a!.matmul(b!)],
      'vector times matrix': [[[k], [k, n]], (a, b) => a!.matmul(b!)],
      'one row': [
        [
          [1, k],
          [k, n],
        ],
        (a, b) => a!.matmul(b!),
      ],
      'one column': [
        [
          [m, k],
          [k, 1],
        ],
        (a, b) => a!.matmul(b!),
      ],
      batches: [
        [
          [3, 9, k],
          [3, k, 11],
        ],
        (a, b) => a!.matmul(b!),
      ],
      'batches of rows': [
        [
          [40, 1, 64],
          [40, 64, 20],
        ],
        (a, b) => a!.matmul(b!),
      ],
      sum: [[[m, k]], (a) => a!.sum()],
      'sum of rows': [[[m, k]], (a) => a!.sum(1)],
      'sum of columns': [[[m, k]], (a) => a!.sum(0)],
      mean: [[[5, m, 9, 31]], (a) => a!.mean([0, 2, 3])],
      norm: [[[m, k]], (a) => a!.mul(a!).sum().sqrt()],
      prod: [[[2000]], (a) => a!.mul(0.01).add(1).prod(0)],
      softmax: [[[m, k]], (a) => a!.softmax(0)],
      variance: [[[m, k]], (a) => a!.var(0)],
      cumsum: [[[m, k]], (a) => a!.cumsum(0)],
    };
    for (const [name, [shapes, fn]] of Object.entries(operands)) {
      const run = (placed: Layout) =>
        tidy(() => {
          const given = shapes.map((shape, i) => placed(tensor(spread(shape, i), { shape })));
          return bitsOf(fn(...given));
        });
      expect(run(layout), name).toEqual(run((x) => x));
    }
  });
});

const repeated: Layout = (x) => tensor([0.7]).expand([x.numel()]).reshape(x.shape);
const gradientLayouts: Readonly<Record<string, readonly [whole: Layout, strided: Layout]>> = {
  transposed: [(x) => x, layouts.transposed!],
  'one number, repeated': [(x) => repeated(x).clone(), (x) => tensor(0.7).expand(x.shape)],
};

describe.each(Object.entries(gradientLayouts))(
  'cpu/layouts: a gradient that is %s',
  (_name, placed) => {
    it('makes the same gradients', () => {
      let strided = 0;
      for (const [name, examples] of Object.entries(gradientCases)) {
        for (const { name: what, shapes, range = [-1, 1], run } of examples) {
          const gradients = placed.map((layout) =>
            tidy(() => {
              const [low, high] = range;
              const leaves = shapes.map((shape, i) => {
                const values = spread(shape, i).map((v) => low + ((v + 1) / 2) * (high - low));
                return tensor(values, { shape, requiresGrad: true });
              });
              const output = run(...leaves);
              const gradient = layout(tensor(spread(output.shape, 9), { shape: output.shape }));
              if (!gradient.isContiguous) strided++;
              output.backward(gradient.to(output.dtype));
              return leaves.map(({ grad }) => {
                const bits = grad && bitsOf(grad);
                grad?.dispose();
                return bits;
              });
            }),
          );
          expect(gradients[1], `${name}, ${what}`).toEqual(gradients[0]);
        }
      }
      expect(strided).toBeGreaterThan(100);
    });
  },
);
