/** Pointwise ops of zeros with their signs, infinities, NaN and numbers at the ends of ranges: what the CPU gives. */

import { describe, it } from 'vitest';
import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../runtime/device/current.ts';
import { bind1 } from '../../../runtime/ops/core/bind.ts';
import { opNamed } from '../../../runtime/ops/op-table.ts';
import type { DType } from '../../../runtime/spec/dtype.ts';
import { numbersOf, storedNumbers } from '../../../runtime/spec/stored-numbers.ts';
import { forwardCases } from '../../ops/cases/forward-cases.ts';
import type { ForwardCase } from '../../ops/cases/forward-dtypes.ts';
import { tensor } from '../../ops/eager.ts';
import { shareOfDay } from '../../share-of-day.ts';
import { gpuForTests, skipGpu } from '../open-gpu.ts';
import { expectClose } from '../parity.ts';

/** Magnitudes. The results of none are subnormal through e^x: a GPU may take such numbers for 0. */
const sizes = [0, 2 ** -126, 1e-30, 1e-5, 0.3, 0.5, 1, 1.5, 2.5, 3, 45, 80, 65504, 2 ** 23 + 1];
const large = [1e10, 1e20, 3.4e38, Infinity];
const few = [0, 0.3, 0.5, 1, 3, 45, 65504, Infinity];
const signed = (values: readonly number[]) => [...values.flatMap((x) => [x, -x]), NaN];

/** Every combination of values, one array for each operand. */
function combined(count: number): number[][] {
  const own = signed(count === 1 ? [...sizes, ...large] : count === 2 ? sizes.concat(large) : few);
  const total = own.length ** count;
  return Array.from({ length: count }, (_, k) =>
    Array.from({ length: total }, (_, i) => own[Math.floor(i / own.length ** k) % own.length]!),
  );
}

/** How close results are; float32 results that differ in their last digits may be rounded to neighbours. */
const dtypes: readonly { readonly dtype: DType; readonly relative: number }[] = [
  { dtype: 'float32', relative: 2e-5 },
  { dtype: 'float16', relative: 2 ** -9 },
  { dtype: 'bfloat16', relative: 2 ** -6 },
];

/** Ops whose result is what is left of two numbers that cancel. */
const cancelling: ReadonlySet<string> = new Set(['sinc', 'geluTanh', 'geluTanhGrad']);

const pointwiseOps = Object.entries(forwardCases).flatMap(([name, [example]]) => {
  const { kernel } = opNamed(name);
  const areFloats = example!.inputs.every(({ dtype }) => dtype === 'float32');
  const isKnown = kernel.kind === 'pointwise' && areFloats && name !== 'toFloat64';
  return isKnown ? [{ name, example: example! }] : [];
});

describe.skipIf(skipGpu)('gpu/dtypes/odd-values', () => {
  const gpu = gpuForTests();

  it.each(shareOfDay(pointwiseOps))('$name', async ({ name, example }) => {
    const cancels = cancelling.has(name);
    const [leastRelative, absolute] = cancels ? [5e-5, 1e-6] : [0, 1e-30];
    for (const { dtype, relative } of dtypes) {
      const cpu = await deviceGuard('cpu', () => result(name, example, dtype));
      const own = await deviceGuard(gpu(), () => result(name, example, dtype));
      expectClose(own, cpu, {
        relative: Math.max(relative, leastRelative),
        absolute,
      });
    }
  });
});

async function result(name: string, { inputs, attrs }: ForwardCase, dtype: DType) {
  const operands = combined(inputs.length).map((own) =>
    tensor(storedNumbers(own, dtype, 'test'), { dtype }),
  );
  const found = noGrad(() => bind1(opNamed(name), operands, attrs ?? {}));
  const data = await found.data();
  for (const own of [...operands, found]) own.dispose();
  return numbersOf(data, found.dtype);
}
