import { textOf } from '../../../ops/expr/expr-nodes.ts';
import { type FusedBody, writtenByFused } from '../../../ops/expr/fused-body.ts';
import { broadcastStrides, sameShape, sizeOf } from '../../../spec/shape.ts';
import type { Launch } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { isContiguousMeta, type TensorMeta } from '../../tensor-meta.ts';
import { collapse } from '../core/loops.ts';
import { argumentsBytes } from '../core/scratch.ts';
import type { Flat } from '../pointwise/flat-list.ts';
import { bindLoops, type Nest } from '../pointwise/nest.ts';
import { walkOf } from '../pointwise/pointwise.ts';
import { hasSimd, lazily } from '../wasm/assembler/module-builder.ts';
import type { PointwiseKernel } from '../wasm/pointwise-kernel.ts';
import { compileFused, type FusedSignature } from './fused-kernel.ts';
import { scalarFused } from './scalar-fused.ts';

/** Inner loops of fewer elements are not worth a separate loop for each slow part. */
const shortLoop = 64;

function hasKernel(
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): boolean {
  const most = (inputs.length + outputs.length) * 12 + Object.keys(attrs).length * 16;
  return hasSimd && most <= argumentsBytes;
}

/** Binds the kernel of a fused op: one pass over its operands, with intermediate values in registers. */
export function fused(
  body: FusedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): Launch {
  if (!hasKernel(inputs, outputs, attrs)) {
    const launch = scalarFused(body, inputs, outputs, attrs);
    return (sources, targets, now) =>
      (now ? scalarFused(body, inputs, outputs, now) : launch)(sources, targets);
  }
  const { kernel, loops, kinds, written } = kernelOf(body, inputs, outputs);
  return bindLoops(kernel, { loops, kinds, written }, attrs);
}

interface Bound extends Nest {
  readonly kernel: PointwiseKernel;
}

function kernelOf(
  body: FusedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): Bound {
  const metas = [...inputs, ...outputs];
  const { shape } = body;
  const strides = metas.map((meta) => broadcastStrides(meta.shape, meta.strides, shape));
  const collapsed = collapse(shape, strides);
  const loops =
    collapsed.shape.length > 0 ? collapsed : { shape: [1], strides: metas.map(() => [1]) };
  const kinds = metas.map(({ dtype }) => dtype);
  const inner = loops.shape.length - 1;
  const written = [...writtenByFused(body), ...outputs.map((_, i) => inputs.length + i)];
  const walks = loops.strides.map((each, k) => walkOf(each[inner]!, written.includes(k)));
  const isShort = loops.shape[inner]! < shortLoop;
  return { kernel: kernelFor({ body, dtypes: kinds, walks, isShort }), loops, kinds, written };
}

/** Returns the kernel over one loop of dense operands; null if there are several loops, or no such kernel. */
export function flatFused(
  body: FusedBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): Flat | null {
  if (!hasKernel(inputs, outputs, attrs)) return null;
  const metas = [...inputs, ...outputs];
  if (!metas.every((meta) => isContiguousMeta(meta) && sameShape(meta.shape, body.shape))) {
    return null;
  }
  // Small sizes use the kernel of larger ones; the order of loops doesn't change a bit.
  const kinds = metas.map(({ dtype }) => dtype);
  const kernel = kernelFor({
    body,
    dtypes: kinds,
    walks: kinds.map(() => 'contiguous'),
    isShort: false,
  });
  const written = [...writtenByFused(body), ...outputs.map((_, i) => inputs.length + i)];
  return { kernel, kinds, written, size: sizeOf(body.shape) };
}

/** Kernels by structure, because programs repeat the same chains. */
const kernels = lazily(() => new Map<string, PointwiseKernel>());

function kernelFor(signature: FusedSignature): PointwiseKernel {
  const { body, dtypes, walks, isShort } = signature;
  const key = JSON.stringify([
    body.parts.map(({ expr, ...part }) => [textOf(expr), part]),
    [body.results, body.writes, dtypes, walks, isShort],
  ]);
  let kernel = kernels().get(key);
  if (!kernel) {
    kernel = compileFused(signature);
    kernels().set(key, kernel);
  }
  return kernel;
}
