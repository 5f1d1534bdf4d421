import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import { bind, bind1 } from '../../runtime/ops/core/bind.ts';
import { zeros } from '../../runtime/ops/movement/create.ts';
import { opNamed, opTable } from '../../runtime/ops/op-table.ts';
import { numbersOf } from '../../runtime/spec/stored-numbers.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { forwardCases as cases, float, int } from './cases/forward-cases.ts';
import {
  type ForwardCase,
  heldBy,
  inDtype,
  tensorOf,
  valuesOf,
  variants,
} from './cases/forward-dtypes.ts';
import { gradientCases } from './cases/gradient-cases.ts';
import * as reference from './cases/reference.ts';
import { allocated, expectClose, type Tensor, type Tolerance } from './eager.ts';

/**
 * Random ops, literals and views have tests of their own; pooling has two outputs; what reads the statistics of
 * its own input is compared with differences, by the gradient cases.
 */
const elsewhere = [
  'uniform',
  'normal',
  'literal',
  'maxPool2d',
  'maxPool2dGrad',
  'maxPool2dCoded',
  'maxPool2dCodedGrad',
  'standardizeGrad',
  'standardizeAffineGrad',
  'standardizeWeightGrad',
  // test/cpu/standardize
  'standardizeByStats',
  'standardizeAffineByStats',
  // They go on with a sum, of which they need the first part: test/cpu/sums-in-steps.
  'addMatmul_',
  'addSum_',
  'addConv2dWeightGrad_',
  'nllLossShare',
  'crossEntropyGrad',
  'addStandardizeWeightGrad_',
  // test/optim/eight-bit-state
  'quantize',
  'dequantize',
  // test/plan/saved-masks
  'packBits',
  'unpackBits',
];

/** The same elements, laid out column by column. */
function transposedLayout(x: Tensor): Tensor {
  const order = x.shape.map((_, d) => x.rank - 1 - d);
  return x.permute(order).clone().permute(order);
}

/** Shape and dtype that the meta device answers. */
function specOnMeta(name: string, { inputs, attrs }: ForwardCase) {
  return deviceGuard('meta', () => {
    const operands = inputs.map(({ shape, dtype }) => zeros(shape, { dtype }));
    const { shape, dtype } = noGrad(() => bind1(opNamed(name), operands, attrs ?? {}));
    return { shape, dtype };
  });
}

function check(name: string, example: ForwardCase, what: string, tolerance: Tolerance): void {
  const values = example.inputs.map((input, k) => valuesOf(input, k));
  const nds = example.inputs.map(({ shape }, k) => ({ shape, values: values[k]! }));
  const expected = example.reference(nds, example.attrs ?? {});
  for (const layout of [(x: Tensor) => x, transposedLayout]) {
    tidy(() => {
      const inputs = example.inputs.map((input, k) => layout(tensorOf(input, values[k]!)));
      const output = noGrad(() => bind1(opNamed(name), inputs, example.attrs ?? {}));
      const { shape, dtype } = output;
      expect(specOnMeta(name, example), `${what} on meta`).toEqual({ shape, dtype });
      const held = expected.map((value) => heldBy(dtype, value));
      expectClose(numbersOf(output.dataSync(), dtype), held, what, tolerance);
    });
  }
}

describe.each(variants)('forward values equal a naive reference, $from as $to', (variant) => {
  for (const [name, examples] of Object.entries(cases)) {
    const own = examples.flatMap((example) => inDtype(name, example, variant) ?? []);
    if (own.length === 0) continue;
    it(name, () => {
      const before = allocated();
      own.forEach((example, i) => {
        check(name, example, `${name}, example ${i}`, variant);
      });
      expect(allocated()).toBe(before);
    });
  }
});

describe('forward values equal a naive reference', () => {
  it('maxPool2d, its indices and its gradient', () => {
    const attrs = {
      kernel: [3, 2],
      stride: [2, 1],
      padding: [1, 0],
      dilation: [1, 1],
      size: [3, 3],
    };
    // Few different values: equal maxima are common.
    const input = int([2, 2, 5, 4], 0, 4);
    const values = valuesOf(input, 0);
    tidy(() => {
      const x = tensorOf({ ...input, dtype: 'float32' }, values);
      const [out, places] = bind(opNamed('maxPool2d'), [x], attrs) as [Tensor, Tensor];
      expect(out.shape).toEqual([2, 2, 3, 3]);
      const expected = reference.maxPoolIndices(out.shape)([{ shape: x.shape, values }], attrs);
      expect([...places.dataSync()]).toEqual(expected);
      const planeOf = (i: number) => Math.floor(i / 9) * 20;
      expect([...out.dataSync()]).toEqual(expected.map((at, i) => values[planeOf(i) + at]));
      const dy = valuesOf(float(out.shape), 1);
      const dx = bind1(
        opNamed('maxPool2dGrad'),
        [tensorOf(float(out.shape), dy), places, x],
        attrs,
      );
      const sums = new Array<number>(values.length).fill(0);
      expected.forEach((at, i) => {
        sums[planeOf(i) + at]! += dy[i]!;
      });
      expectClose(dx.dataSync(), sums, 'gradient');
      const [same, codes] = bind(opNamed('maxPool2dCoded'), [x], attrs) as [Tensor, Tensor];
      expect(same.dataSync()).toEqual(out.dataSync());
      expect(codes.dtype).toBe('uint8');
      const startOf = (i: number) => (Math.floor((i % 9) / 3) * 2 - 1) * 4 + (i % 3);
      expect([...codes.dataSync()]).toEqual(expected.map((at, i) => at - startOf(i)));
      const operands = [tensorOf(float(out.shape), dy), codes, x];
      const fromCodes = bind1(opNamed('maxPool2dCodedGrad'), operands, attrs);
      expect(fromCodes.dataSync()).toEqual(dx.dataSync());
    });
  });

  it('every op has a reference, unless it is a view with a gradient test', () => {
    const missing = [...opTable.values()].filter(
      ({ name, kernel }) =>
        !cases[name] &&
        !elsewhere.includes(name) &&
        !(kernel.kind === 'view' && gradientCases[name]),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
