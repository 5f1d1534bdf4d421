import { sizeOf } from '../../tensor/shape.ts';
import { heap } from './heap.ts';
import { addressOf, expectContiguous, indexOf, type KernelFactory } from './kernel.ts';
import { eachLabel, crossEntropyGrad as scalarCrossEntropyGrad } from './scalar/loss.ts';
import * as scalar from './scalar/softmax.ts';
import { argumentsAt } from './scratch.ts';
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

/** The bits of `logSoftmaxGrad` of `nllLossGrad`: 0 − q and share − q, with q = exp(out) · share. */
export const crossEntropyGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [, target, logProbs] = inputs;
  if (!hasSimd || logProbs!.dtype !== 'float32') {
    return scalarCrossEntropyGrad(inputs, outputs, attrs);
  }
  expectContiguous(target!, logProbs!, outputs[0]!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { probabilityShare } = softmaxKernels();
  return ([share, labels, out], [to]) => {
    const own = heap.f32[indexOf(share!, 'float32')]!;
    const [from, into] = [addressOf(out!, 'float32'), addressOf(to!, 'float32')];
    eachLabel(indexOf(labels!, 'int32'), n, classes, (row, label) => {
      const at = row * classes * 4;
      heap.f32[argumentsAt / 4] = label === null ? 0 : own + 0;
      probabilityShare(from + at, argumentsAt, into + at, 1, classes);
      if (label === null) return;
      const place = (into + at) / 4 + label;
      const part = heap.f32[place]!;
      heap.f32[place] = part === 0 ? own : own + part;
    });
  };
};
