import { dtypes } from '../../spec/dtype.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { Launch } from '../device.ts';
import type { Attrs } from '../kernel-op.ts';
import type { TensorMeta } from '../tensor-meta.ts';
import { heap, partArgumentsBytes, sharedTables } from './core/heap.ts';
import { addressOf, expectContiguous, type KernelFactory, pairAttr } from './core/kernel.ts';
import { fillBytes } from './movement/bytes.ts';
import * as scalar from './scalar/pool.ts';
import { equalParts, sliding, type Windows } from './scalar/pool.ts';
import { mostParts } from './threads/control.ts';
import { pool } from './threads/pool.ts';
import { hasSimd, type Kernel } from './wasm/assembler/module-builder.ts';
import { poolKernels } from './wasm/pool-kernels.ts';

/** Nanoseconds per tap, and taps per part. */
const perTap = 0.6;
const partTaps = 24_000;

/** Calls a kernel for ranges of planes, with this many taps per plane. */
export function inPlanes(
  kernel: Kernel,
  planes: number,
  taps: number,
  argsOf: (first: number, count: number) => readonly number[],
): void {
  const size = Math.max(1, Math.ceil(partTaps / taps), Math.ceil(planes / mostParts));
  if (planes <= size || !pool.shares(planes * taps * perTap)) {
    kernel(...argsOf(0, planes));
    return;
  }
  let [parts, arity] = [0, 0];
  for (let first = 0; first < planes; first += size) {
    const args = argsOf(first, Math.min(size, planes - first));
    arity = args.length;
    pool.numbers.set(args, parts++ * arity);
  }
  pool.run(kernel, parts, arity);
}

/** Returns where the window of a plane's first output starts, and the steps between windows, in elements. */
function startsOf({ shape }: TensorMeta, attrs: Attrs) {
  const width = shape[3]!;
  const [padding, stride] = [pairAttr(attrs, 'padding'), pairAttr(attrs, 'stride')];
  return {
    first: -padding[0] * width - padding[1],
    lineStep: stride[0] * width,
    windowStep: stride[1],
  };
}

export const maxPool2d: KernelFactory = (...args) => slidingPool('int32', ...args);
/** Positions are uint8, relative to the windows. */
export const maxPool2dCoded: KernelFactory = (...args) => slidingPool('uint8', ...args);

function slidingPool(
  dtype: 'int32' | 'uint8',
  ...[inputs, outputs, attrs]: Parameters<KernelFactory>
): Launch {
  const isCoded = dtype === 'uint8';
  const plain = isCoded ? scalar.maxPool2dCoded : scalar.maxPool2d;
  const x = inputs[0]!;
  const out = outputs[0]!;
  const [planes, width] = [x.shape[0]! * x.shape[1]!, x.shape[3]!];
  const [outHeight, outWidth] = [out.shape[2]!, out.shape[3]!];
  const last = [outHeight - 1, outWidth - 1];
  const isClipped = last.some((window, i) => {
    const [stride, kernel] = [pairAttr(attrs, 'stride')[i]!, pairAttr(attrs, 'kernel')[i]!];
    const spread = pairAttr(attrs, 'dilation')[i]! > 1 || pairAttr(attrs, 'padding')[i]! > 0;
    return spread || window * stride + kernel > x.shape[i + 2]!;
  });
  if (!hasSimd || x.dtype !== 'float32') return plain(inputs, outputs, attrs);
  // Clipped windows, and rows of fewer than four outputs.
  if (isClipped || outWidth < 4) {
    const along = (d: 0 | 1) => sliding(x.shape[d + 2]!, out.shape[d + 2]!, attrs, d);
    const starts = isCoded ? startsOf(x, attrs) : null;
    return windowsKernel(x, out, along, starts) ?? plain(inputs, outputs, attrs);
  }
  expectContiguous(x, out);
  const planeBytes = x.shape[2]! * width * 4;
  const [kernelHeight, kernelWidth] = pairAttr(attrs, 'kernel');
  const [strideH, strideW] = pairAttr(attrs, 'stride');
  const kernel = poolKernels()[isCoded ? 'maxPoolCoded' : 'maxPool'];
  const outPlane = outHeight * outWidth;
  const plane = outPlane * kernelHeight * kernelWidth;
  const sizes = [outHeight, outWidth, width, planeBytes, kernelHeight, kernelWidth];
  return ([source], [target, indices]) => {
    const from = addressOf(source!, 'float32');
    const to = addressOf(target!, 'float32');
    const places = addressOf(indices!, dtype);
    inPlanes(kernel, planes, plane, (first, count) => {
      const skip = first * outPlane;
      const placesAt = places + skip * dtypes[dtype].bytes;
      const addresses = [from + first * planeBytes, to + skip * 4, placesAt];
      return [...addresses, count, ...sizes, strideH, strideW];
    });
  };
}

/**
 * Returns a kernel for arbitrary windows; null if there are too many for the tables. Positions of maxima are
 * relative to window starts (uint8), or to the plane (int32) if `starts` is null.
 */
function windowsKernel(
  x: TensorMeta,
  out: TensorMeta,
  along: (d: 0 | 1) => Windows,
  starts: ReturnType<typeof startsOf> | null,
): Launch | null {
  const [outHeight, outWidth] = [out.shape[2]!, out.shape[3]!];
  const tables = [0, 1].flatMap((d) => {
    const { starts, ends } = along(d as 0 | 1);
    return [...starts, ...ends];
  });
  if (tables.length * 4 > partArgumentsBytes || sizeOf(out.shape) === 0) return null;
  expectContiguous(x, out);
  const words = Int32Array.from(tables);
  const [rows, columns] = [along(0), along(1)];
  const [height, width] = [x.shape[2]!, x.shape[3]!];
  const planes = x.shape[0]! * x.shape[1]!;
  const [planeBytes, outPlane] = [height * width * 4, outHeight * outWidth];
  const { at } = sharedTables;
  const columnsAt = at + outHeight * 8;
  const sizes = [outHeight, outWidth, width, planeBytes, at, columnsAt];
  const taps = (rows.ends[0]! - rows.starts[0]!) * (columns.ends[0]! - columns.starts[0]!);
  const kernel = poolKernels()[starts ? 'maxPoolCodedWindows' : 'maxPoolWindows'];
  const dtype = starts ? 'uint8' : 'int32';
  const windows = starts ? [starts.first, starts.lineStep, starts.windowStep] : [];
  return ([source], [target, indices]) => {
    const from = addressOf(source!, 'float32');
    const to = addressOf(target!, 'float32');
    const places = addressOf(indices!, dtype);
    heap.i32.set(words, at / 4);
    inPlanes(kernel, planes, outPlane * Math.max(4, taps), (first, count) => {
      const skip = first * outPlane;
      const placesAt = places + skip * dtypes[dtype].bytes;
      const addresses = [from + first * planeBytes, to + skip * 4, placesAt];
      return [...addresses, count, ...sizes, rows.step, columns.step, ...windows];
    });
  };
}

export const adaptiveMaxPool2d: KernelFactory = (inputs, outputs, attrs) => {
  const [x] = inputs;
  const [out] = outputs;
  const along = (d: 0 | 1) => equalParts(x!.shape[d + 2]!, out!.shape[d + 2]!);
  const launch = hasSimd && x!.dtype === 'float32' ? windowsKernel(x!, out!, along, null) : null;
  return launch ?? scalar.adaptiveMaxPool2d(inputs, outputs, attrs);
};

export const maxPool2dGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, , x] = inputs;
  if (!hasSimd || dy!.dtype !== 'float32') return scalar.maxPool2dGrad(inputs, outputs, attrs);
  const [dx] = outputs;
  expectContiguous(dy!, dx!);
  const planes = x!.shape[0]! * x!.shape[1]!;
  const planeBytes = x!.shape[2]! * x!.shape[3]! * 4;
  const outPlane = dy!.shape[2]! * dy!.shape[3]!;
  const bytes = sizeOf(x!.shape) * 4;
  const { maxPoolGrad } = poolKernels();
  return ([grad, indices], [target]) => {
    const to = addressOf(target!, 'float32');
    fillBytes(to, bytes);
    const from = addressOf(grad!, 'float32');
    const places = addressOf(indices!, 'int32');
    inPlanes(maxPoolGrad, planes, outPlane * 2, (first, count) => {
      const skip = first * outPlane * 4;
      return [from + skip, places + skip, to + first * planeBytes, count, outPlane, planeBytes];
    });
  };
};

/** The gradient of max pooling, for uint8 positions in the windows. */
export const maxPool2dCodedGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [dy, , x] = inputs;
  if (!hasSimd || dy!.dtype !== 'float32') return scalar.maxPool2dCodedGrad(inputs, outputs, attrs);
  expectContiguous(dy!, outputs[0]!);
  const planes = x!.shape[0]! * x!.shape[1]!;
  const planeBytes = x!.shape[2]! * x!.shape[3]! * 4;
  const [outHeight, outWidth] = [dy!.shape[2]!, dy!.shape[3]!];
  const outPlane = outHeight * outWidth;
  const bytes = sizeOf(x!.shape) * 4;
  const { first, lineStep, windowStep } = startsOf(x!, attrs);
  const windows = [planeBytes, first * 4, lineStep * 4, windowStep * 4];
  const { maxPoolCodedGrad } = poolKernels();
  return ([grad, codes], [target]) => {
    const to = addressOf(target!, 'float32');
    fillBytes(to, bytes);
    const from = addressOf(grad!, 'float32');
    const codesAt = addressOf(codes!, 'uint8');
    inPlanes(maxPoolCodedGrad, planes, outPlane * 2, (plane, count) => {
      const skip = plane * outPlane;
      const addresses = [from + skip * 4, codesAt + skip, to + plane * planeBytes];
      return [...addresses, count, outHeight, outWidth, ...windows];
    });
  };
};
