/**
 * (x − mean) / √(variance + eps) over groups of elements, with weight and bias: the function shared by batch, layer,
 * group, instance and RMS norm.
 */

import { formatSpec, type TensorSpec } from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { formatShape, sizeOf } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { bind } from '../core/bind.ts';
import { casting } from '../core/cast.ts';
import { wide } from '../core/rounded-once.ts';
import { contiguous, reshape, select } from '../movement/movement.ts';
import { fullLike } from '../movement/ranges.ts';
import { negated } from '../numbers/number-arithmetic.ts';
import { reciprocal } from '../pointwise/powers.ts';
import { type Grouping, isChannels, isRows, isWeighedByColumn } from './grouping.ts';
import { plain } from './standardize-in-ops.ts';
import { affineOp, standardizeOp } from './standardize-ops.ts';

export interface Standardized {
  readonly out: Tensor;
  /** One mean per group, without gradient history. */
  readonly mean: Tensor;
  readonly variance: Tensor;
}

/** Standardizes by a grouping. Weight and bias have one element per weight, in one or more dimensions. */
export function standardize(
  name: string,
  x: Tensor,
  weight: Tensor | null,
  bias: Tensor | null,
  grouping: Grouping,
): Standardized {
  for (const item of [weight, bias]) if (item) expectWeights(name, item, grouping);
  expectNormDTypes(name, x, { weight, bias });
  const count = sizeOf(grouping.weightShape);
  // If only one of the two is missing, it is filled with ones or zeros.
  const filled = (values: Tensor | null, value: number) =>
    values ? reshape(values, [count]) : fullLike(weight ?? bias ?? x, value, { shape: [count] });
  const affine = weight || bias ? [filled(weight, 1), filled(bias, 0)] : [];
  // GPU kernels support rows with a weight per element, and channels with a single weight each.
  const isGpu = x.device.kind === 'gpu';
  const isWhole = isRows(grouping) || isChannels(grouping);
  if (isGpu && !(x.device.fusesPointwise && isWhole)) return ofOps(x, affine, grouping);
  const isWeighed = isChannels(grouping) || isWeighedByColumn(grouping);
  const isApart = isGpu && affine.length > 0 && !isWeighed;
  const weights = isApart ? [] : affine;
  const [own, stats] = bind(
    weights.length > 0 ? affineOp : standardizeOp,
    [contiguous(x), ...weights],
    { ...grouping },
  );
  const out = isApart ? weighed(own!, affine, grouping) : own;
  const scale = select(stats!, 1, 1);
  const variance = add(reciprocal(mul(scale, scale)), negated(grouping.eps));
  return { out: out!, mean: select(stats!, 1, 0), variance };
}

function weighed(x: Tensor, affine: readonly Tensor[], { view, weightShape }: Grouping): Tensor {
  const [weight, bias] = affine.map((each) => reshape(each, weightShape));
  return reshape(add(mul(reshape(x, view), weight!), bias!), x.shape);
}

function ofOps(x: Tensor, affine: readonly Tensor[], grouping: Grouping): Standardized {
  const { out, center, variance } = plain(x, grouping);
  const [weight, bias] = affine.map((each) => reshape(each, grouping.weightShape));
  const result = weight && bias ? add(mul(out, weight), bias) : out;
  return {
    out: reshape(result, x.shape),
    mean: reshape(center.detach(), [center.numel()]),
    variance: reshape(variance.detach(), [variance.numel()]),
  };
}

function expectWeights(name: string, weight: Tensor, { weightShape }: Grouping): void {
  const count = sizeOf(weightShape);
  if (weight.numel() === count) return;
  throw new ShapeError({
    what: `${name}: weight or bias doesn't fit`,
    given: `${formatSpec(weight)}`,
    expected: `${count} elements, for ${formatShape(weightShape)}`,
    remedy: 'check the number of channels, or the normalized shape',
  });
}

/**
 * Throws DTypeError unless weights and running values have the dtype of the normalized tensor, as in PyTorch;
 * float32 is also allowed for half precision.
 */
export function expectNormDTypes(
  name: string,
  x: TensorSpec,
  others: Readonly<Record<string, Tensor | null>>,
): void {
  for (const [role, operand] of Object.entries(others)) {
    if (!operand || operand.dtype === x.dtype || operand.dtype === wide(x.dtype)) continue;
    throw new DTypeError({
      what: `${name}: the ${role} has another dtype than the input`,
      given: `input ${formatSpec(x)}, ${role} ${formatSpec(operand)}`,
      expected: `a ${role} in ${[...new Set([x.dtype, wide(x.dtype)])].join(' or ')}`,
      remedy: `cast the module, module.to('${x.dtype}'), or the input, x.to('${operand.dtype}')`,
    });
  }
}

/** Runs `body` on the tensor in a floating-point dtype and frees temporaries. */
export function normalized(
  x: Tensor,
  dtype: Tensor['dtype'],
  body: (converted: Tensor) => Tensor,
): Tensor {
  return tidy(() => casting([x], dtype, ([own]) => body(own!)));
}
