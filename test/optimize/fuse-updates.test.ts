/** Writes in place to several tensors, in one launch and one by one: what is written has the same bits. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { events } from '../../runtime/memory/events.ts';
import { add_, addcmul_, mul_ } from '../../runtime/ops/in-place/in-place.ts';
import { type DType, randn, type Tensor, tidy, toStatic } from '../../src/index.ts';

const updates = {
  sum: (x: Tensor, y: Tensor) => add_(x, y, 2),
  product: (x: Tensor, y: Tensor) => mul_(x, y),
  number: (x: Tensor) => mul_(x, 3),
  three: (x: Tensor, y: Tensor) => addcmul_(x, y, y, 2),
} as const;
const kinds = Object.keys(updates) as (keyof typeof updates)[];

const shapes = [[], [0], [1], [7], [1025], [5, 7], [3, 400]] as const;
const dtypes: readonly DType[] = ['float32', 'float32', 'float64', 'int32', 'float16', 'bfloat16'];
const layouts = ['dense', 'dense', 'dense', 'transposed', 'row'] as const;

interface Target {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly layout: (typeof layouts)[number];
}

/** A target, and an operand that is as large, lies otherwise or broadcasts. */
function made({ shape, dtype, layout }: Target): readonly [x: Tensor, y: Tensor] {
  return tidy(() => {
    const numbers = (dims: readonly number[]) =>
      randn([...dims])
        .mul(3)
        .to(dtype);
    const reversed = [...shape].reverse();
    const order = [...shape.keys()].reverse();
    if (layout === 'transposed') {
      return [numbers(reversed).permute(order), numbers(reversed).permute(order)];
    }
    return [numbers(shape), numbers(layout === 'row' ? shape.slice(-1) : shape)];
  });
}

const bytesOf = (x: Tensor): number[] => {
  const data = x.contiguous().dataSync();
  return [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
};

function kernelsOf(run: () => void): number {
  const { kernels } = events;
  run();
  return events.kernels - kernels;
}

const target = fc.record({
  shape: fc.constantFrom(...shapes),
  dtype: fc.constantFrom(...dtypes),
  layout: fc.constantFrom(...layouts),
});

it('updates of several tensors have the bits of updates one by one', () => {
  const check = (targets: readonly Target[], kind: keyof typeof updates): void => {
    const isTaken = (dtype: DType) => kind !== 'three' || dtype !== 'int32';
    const pairs = targets.filter(({ dtype }) => isTaken(dtype)).map(made);
    const copies = pairs.map(([x]) => tidy(() => x.clone()));
    const step = (written: readonly Tensor[]): void => {
      for (let i = 0; i < written.length; i++) updates[kind](written[i]!, pairs[i]![1]);
    };
    noGrad(() => step(copies));
    const captured = toStatic(step, { check: 0 });
    noGrad(() => captured(pairs.map(([x]) => x)));
    pairs.forEach(([x], i) => {
      expect(bytesOf(x)).toEqual(bytesOf(copies[i]!));
    });
  };
  const several = fc.array(target, { minLength: 2, maxLength: 6 });
  fc.assert(fc.property(several, fc.constantFrom(...kinds), check), {
    numRuns: Number(process.env.GENERATED_RUNS ?? 25),
    seed: 1,
    endOnFailure: true,
  });
});

it.each(kinds)('dense targets of one dtype take one launch: %s', (kind) => {
  const pairs = shapes
    .filter((shape) => !shape.some((size) => size === 0))
    .map((shape) => made({ shape, dtype: 'float32', layout: 'dense' }));
  const step = (): void => {
    for (const [x, y] of pairs) updates[kind](x, y);
  };
  const captured = toStatic(step, { check: 0 });
  noGrad(captured);
  expect(kernelsOf(() => noGrad(step))).toBe(pairs.length);
  expect(kernelsOf(() => noGrad(captured))).toBe(1);
});
