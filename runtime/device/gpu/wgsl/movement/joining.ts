/** Ops that move elements without changing them, part by part. */

import { identity } from '../../../../ops/expr/expr-type.ts';
import { remainder } from '../../../../ops/numbers/number-arithmetic.ts';
import { contiguousStrides, sizeOf } from '../../../../spec/shape.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { singleBody } from '../pointwise-bodies.ts';
import { type PointwiseBody, pointwiseStage } from '../pointwise-kernel.ts';
import type { KernelPlanner } from '../wgsl-plan.ts';

/** The layout of elements: strides over the part's shape, and the offset. */
interface StridedLayout {
  readonly strides: readonly number[];
  readonly base: number;
}

/** Copies elements of `shape` from one layout to another. */
export function partBody(
  slot: Slot,
  out: TensorMeta,
  shape: readonly number[],
  from: StridedLayout,
  to: StridedLayout,
): PointwiseBody {
  const [source, target] = [from, to].map(({ strides }) => ({ ...out, shape, strides }));
  return {
    ...singleBody(identity, [source!], target!),
    inputs: [{ slot, meta: source!, base: from.base }],
    outputs: [{ slot: output(0), meta: target!, base: to.base }],
  };
}

/** (…parts, any strides) → concatenated along `dim`: one dispatch for as many parts as can be bound together. */
export const catPlan: KernelPlanner = (inputs, [out], attrs, { mostBuffers }) => {
  const dim = attrs.dim as number;
  const strides = contiguousStrides(out!.shape);
  let start = 0;
  const parts = inputs.flatMap(({ shape, strides: own }, i) => {
    const base = start * strides[dim]!;
    start += shape[dim]!;
    if (sizeOf(shape) === 0) return [];
    return [partBody(input(i), out!, shape, { strides: own, base: 0 }, { strides, base })];
  });
  const perStage = mostBuffers - 1;
  const count = Math.ceil(parts.length / perStage);
  const stages = Array.from({ length: count }, (_, s) =>
    pointwiseStage(parts.slice(s * perStage, (s + 1) * perStage)),
  );
  return { scratch: [], stages };
};

/** (x, any strides) → the entries of `dims` reversed. */
export const flipPlan: KernelPlanner = ([x], [out], attrs) => {
  const dims = attrs.dims as readonly number[];
  const { shape } = x!;
  let base = 0;
  const strides = x!.strides.map((stride, d) => {
    if (!dims.includes(d)) return stride;
    base += (shape[d]! - 1) * stride;
    // As a u32, sums wrap around to the right index.
    return -stride;
  });
  const to = { strides: out!.strides, base: 0 };
  const body = partBody(input(0), out!, shape, { strides, base }, to);
  return { scratch: [], stages: [pointwiseStage([body])] };
};

/** (x, any strides) → the entries of `dim` shifted by `shift`: swaps its last entries with all before them. */
export const rollPlan: KernelPlanner = ([x], [out], attrs) => {
  const dim = attrs.dim as number;
  const size = x!.shape[dim]!;
  const last = size === 0 ? 0 : remainder(attrs.shift as number, size);
  const [from, to] = [x!.strides, contiguousStrides(out!.shape)];
  const part = (length: number, source: number, target: number): PointwiseBody =>
    partBody(
      input(0),
      out!,
      x!.shape.map((each, d) => (d === dim ? length : each)),
      { strides: from, base: source * from[dim]! },
      { strides: to, base: target * to[dim]! },
    );
  const parts = [part(size - last, 0, last), part(last, size - last, 0)];
  return { scratch: [], stages: [pointwiseStage(parts)] };
};
