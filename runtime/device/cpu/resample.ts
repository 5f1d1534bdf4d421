import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { Attrs } from '../kernel-op.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { heap, partArgumentsBytes, sharedTables } from './core/heap.ts';
import { addressOf, expectContiguous, type KernelFactory } from './core/kernel.ts';
import { alongDim } from './core/reduction.ts';
import { fillBytes } from './movement/bytes.ts';
import { inPlanes } from './pool.ts';
import {
  allTaps,
  resample as scalarResample,
  resampleGrad as scalarResampleGrad,
} from './scalar/resample.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { resampleKernels, tapBytes } from './wasm/resample-kernels.ts';

/** The tables of the generated kernels, or null if they don't fit. */
function tablesOf(size: number, stride: number, count: number, attrs: Attrs) {
  const { starts, indices, weights } = allTaps(size, count, attrs);
  const taps = Math.ceil((count * 4) / tapBytes) * tapBytes;
  const bytes = new Uint8Array(taps + indices.length * tapBytes);
  if (bytes.length > partArgumentsBytes) return null;
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < count; i++) view.setInt32(i * 4, starts[i + 1]! - starts[i]!, true);
  indices.forEach((index, k) => {
    view.setInt32(taps + k * tapBytes, index * stride * 4, true);
    view.setFloat64(taps + k * tapBytes + 8, weights[k]!, true);
  });
  return { bytes, taps, perEntry: indices.length / Math.max(1, count) };
}

function bound(
  name: 'resample' | 'resampleGrad',
  fallback: KernelFactory,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
): Launch {
  const isBackward = name === 'resampleGrad';
  const [first, like] = inputs;
  const whole = isBackward ? like! : first!;
  const [out] = outputs;
  const dim = attrs.dim as number;
  const { size, stride, outer } = alongDim(whole.shape, dim);
  const count = (isBackward ? first! : out!).shape[dim]!;
  const tables =
    hasSimd && first!.dtype === 'float32' ? tablesOf(size, stride, count, attrs) : null;
  if (!tables) return fallback(inputs, outputs, attrs);
  expectContiguous(first!, out!);
  const kernel = resampleKernels()[name];
  const [wholeBytes, countBytes] = [size * stride * 4, count * stride * 4];
  const steps = isBackward ? [countBytes, wholeBytes] : [wholeBytes, countBytes];
  const { at } = sharedTables;
  const { bytes, taps, perEntry } = tables;
  const work = Math.ceil(count * stride * perEntry);
  const outBytes = sizeOf(out!.shape) * 4;
  return ([source], [target]) => {
    const [from, to] = [addressOf(source!, 'float32'), addressOf(target!, 'float32')];
    if (isBackward) fillBytes(to, outBytes);
    heap.u8.set(bytes, at);
    inPlanes(kernel, outer, work, (first, planes) => [
      ...[from + first * steps[0]!, to + first * steps[1]!, planes, ...steps],
      ...[count, stride, at, at + taps],
    ]);
  };
}

export const resample: KernelFactory = (...args) => bound('resample', scalarResample, ...args);
export const resampleGrad: KernelFactory = (...args) =>
  bound('resampleGrad', scalarResampleGrad, ...args);
