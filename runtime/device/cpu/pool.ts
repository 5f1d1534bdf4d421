import { sizeOf } from '../../tensor/shape.ts';
import { heap } from './heap.ts';
import { addressOf, expectContiguous, type KernelFactory, pairAttr } from './kernel.ts';
import * as scalar from './scalar/pool.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { poolKernels } from './wasm/pool-kernels.ts';

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
  return ([source], [target, indices]) => {
    maxPool(
      addressOf(source!, 'float32'),
      addressOf(target!, 'float32'),
      addressOf(indices!, 'int32'),
      planes,
      outHeight,
      outWidth,
      width,
      planeBytes,
      kernelHeight,
      kernelWidth,
      strideH,
      strideW,
    );
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
    heap.u8.fill(0, to, to + bytes);
    const from = addressOf(grad!, 'float32');
    maxPoolGrad(from, addressOf(indices!, 'int32'), to, planes, outPlane, planeBytes);
  };
};
