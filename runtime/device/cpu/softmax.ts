import { sizeOf } from '../../tensor/shape.ts';
import { addressOf, expectContiguous, type KernelFactory } from './kernel.ts';
import * as scalar from './scalar/softmax.ts';
import { hasSimd } from './wasm/module-builder.ts';
import { softmaxKernels } from './wasm/softmax-kernels.ts';

function byRow(
  name: keyof ReturnType<typeof softmaxKernels>,
  fallback: KernelFactory,
): KernelFactory {
  if (!hasSimd) return fallback;
  return (inputs, [out], attrs) => {
    if (out!.dtype !== 'float32') return fallback(inputs, [out!], attrs);
    expectContiguous(...inputs, out!);
    const kernel = softmaxKernels()[name];
    const length = out!.shape.at(-1) ?? 1;
    const rows = length === 0 ? 0 : sizeOf(out!.shape) / length;
    return ([first, second], [target]) => {
      const from = addressOf(first!, 'float32');
      const other = second ? addressOf(second, 'float32') : from;
      kernel(from, other, addressOf(target!, 'float32'), rows, length);
    };
  };
}

export const logSoftmax = byRow('logSoftmax', scalar.logSoftmax);
export const softmax = byRow('softmax', scalar.softmax);
export const logSoftmaxGrad = byRow('logSoftmaxGrad', scalar.logSoftmaxGrad);
export const softmaxGrad = byRow('softmaxGrad', scalar.softmaxGrad);
