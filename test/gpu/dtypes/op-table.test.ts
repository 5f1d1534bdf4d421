/** Every op of the table on the GPU, in every dtype that it takes there, against the CPU. */

import { describe, expect, it } from 'vitest';
import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import { bind } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import { type DType, dtypes } from '../../../runtime/spec/dtype.ts';
import { numbersOf } from '../../../runtime/spec/stored-numbers.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import { type ForwardCase, inDtype, tensorOf, valuesOf } from '../../ops/cases/forward-dtypes.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose, type Tolerance } from '../parity.ts';

/** One dtype of the cases replaced by another, and how close floating-point results are. */
const variants: readonly (Tolerance & { readonly from: DType; readonly to: DType })[] = [
  { from: 'int32', to: 'int32' },
  { from: 'bool', to: 'bool' },
  { from: 'int32', to: 'uint8' },
  // float32 results that differ in their last digits may be rounded to neighbours.
  { from: 'float32', to: 'float16', relative: 2 ** -10, absolute: 1e-5 },
  { from: 'float32', to: 'bfloat16', relative: 2 ** -7, absolute: 1e-5 },
];

/** Ops with sums that cancel: what rounding leaves of them has no certain sign. */
const cancelling: ReadonlySet<string> = new Set(['resampleGrad']);

/** The numbers, those of such ops without the sign of zeros. */
const compared = (name: string, numbers: ArrayLike<number>): ArrayLike<number> =>
  cancelling.has(name) ? Array.from(numbers, (x) => x + 0) : numbers;

/** Dtypes that a GPU has not: ops that make them are refused by name. */
const unstored: readonly DType[] = ['float64'];

/** The same elements, laid out column by column. */
function transposedLayout(x: Tensor): Tensor {
  const order = x.shape.map((_, d) => x.rank - 1 - d);
  return x.permute(order).clone().permute(order);
}

const layouts = [(x: Tensor) => x, transposedLayout];

function hasDType({ inputs, attrs }: ForwardCase, dtype: DType): boolean {
  return inputs.some((input) => input.dtype === dtype) || attrs?.dtype === dtype;
}

/** The results of a case on the current device, for each layout of its operands. */
async function results(name: string, { inputs, attrs }: ForwardCase) {
  const found = layouts.flatMap((layout) =>
    noGrad(() => {
      const operands = inputs.map((input, k) => layout(tensorOf(input, valuesOf(input, k))));
      return bind(opNamed(name), operands, attrs ?? {});
    }),
  );
  const data = await Promise.all(found.map((own) => own.data()));
  const shown = found.map(({ dtype, shape }, i) => {
    return { dtype, shape, numbers: numbersOf(data[i]!, dtype) };
  });
  for (const own of found) own.dispose();
  return shown;
}

describe.skipIf(skipGpu)('gpu/dtypes/op-table', () => {
  const gpu = gpuForTests();

  for (const { from, to, ...tolerance } of variants) {
    const cases = Object.entries(forwardCases).flatMap(([name, examples]) => {
      const own = examples.flatMap((example) => {
        const made = hasDType(example, from) ? inDtype(name, example, { from, to }) : null;
        return made ? [made] : [];
      });
      return own.length > 0 ? [{ name, own }] : [];
    });
    it.each(shareOfDay(cases))(`$name of ${to}`, async ({ name, own }) => {
      for (const example of own) {
        const expected = await deviceGuard('cpu', () => results(name, example));
        if (expected.some(({ dtype }) => unstored.includes(dtype))) continue;
        const actual = await deviceGuard(gpu(), () => results(name, example));
        actual.forEach(({ dtype, shape, numbers }, i) => {
          const wanted = expected[i]!;
          expect({ dtype, shape }).toEqual({ dtype: wanted.dtype, shape: wanted.shape });
          const isExact = !dtypes[dtype].floating;
          const own = isExact ? { relative: 0, absolute: 0 } : tolerance;
          expectClose(compared(name, numbers), compared(name, wanted.numbers), own);
        });
      }
    });
  }
});
