import { sizeOf } from '../../tensor/shape.ts';
import { fillBytes } from './bytes.ts';
import { addressOf, expectContiguous, type KernelFactory, pairAttr } from './kernel.ts';
import * as scalar from './scalar/pool.ts';
import { mostParts } from './threads/control.ts';
import { pool } from './threads/pool.ts';
import { hasSimd, type Kernel } from './wasm/module-builder.ts';
import { poolKernels } from './wasm/pool-kernels.ts';

/** Nanoseconds of a tap, and taps of a part. */
const perTap = 0.6;
const partTaps = 24_000;

/** Calls a kernel for ranges of planes, of which each takes so many taps. */
function inPlanes(
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

export const maxPool2d: KernelFactory = (inputs, outputs, attrs) => {
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
  // Clipped windows and rows of fewer than four outputs are left to the simple loops.
  if (!hasSimd || isClipped || outWidth < 4 || x.dtype !== 'float32') {
    return scalar.maxPool2d(inputs, outputs, attrs);
  }
  expectContiguous(x, out);
  const planeBytes = x.shape[2]! * width * 4;
  const [kernelHeight, kernelWidth] = pairAttr(attrs, 'kernel');
  const [strideH, strideW] = pairAttr(attrs, 'stride');
  const { maxPool } = poolKernels();
  const outPlane = outHeight * outWidth;
  const plane = outPlane * kernelHeight * kernelWidth;
  const sizes = [outHeight, outWidth, width, planeBytes, kernelHeight, kernelWidth];
  return ([source], [target, indices]) => {
    const from = addressOf(source!, 'float32');
    const to = addressOf(target!, 'float32');
    const places = addressOf(indices!, 'int32');
    inPlanes(maxPool, planes, plane, (first, count) => {
      const skip = first * outPlane * 4;
      const addresses = [from + first * planeBytes, to + skip, places + skip];
      return [...addresses, count, ...sizes, strideH, strideW];
    });
  };
};

export const adaptiveMaxPool2d = scalar.adaptiveMaxPool2d;

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
