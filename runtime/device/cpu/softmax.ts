import { sizeOf } from '../../spec/shape.ts';
import { heap } from './core/heap.ts';
import { hostCalls, placesOf } from './core/host-kernels.ts';
import { addressOf, expectContiguous, type KernelFactory } from './core/kernel.ts';
import { argumentsAt } from './core/scratch.ts';
import { lossMethods, crossEntropyGrad as scalarCrossEntropyGrad } from './scalar/loss.ts';
import * as scalar from './scalar/softmax.ts';
import { mostParts } from './threads/control.ts';
import { Parts } from './threads/parts.ts';
import { pool } from './threads/pool.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { softmaxKernels } from './wasm/softmax-kernels.ts';

/** Nanoseconds per element of results and of gradients, and the minimum per part. */
const perElement = 2.5;
const perGradElement = 1;
const leastPart = 8_000;

/** The minimum number of classes of a row for a part to be a single row. */
const leastClasses = 1024;

function byRow(
  name: keyof ReturnType<typeof softmaxKernels>,
  fallback: KernelFactory,
  perElement: number,
): KernelFactory {
  if (!hasSimd) return fallback;
  return (inputs, [out], attrs) => {
    if (out!.dtype !== 'float32') return fallback(inputs, [out!], attrs);
    expectContiguous(...inputs, out!);
    const length = out!.shape.at(-1) ?? 1;
    const rows = length === 0 ? 0 : sizeOf(out!.shape) / length;
    const work = rows * length * perElement;
    const least = Math.ceil(leastPart / (length * perElement));
    const height = Math.max(1, least, Math.ceil(rows / mostParts));
    const parts = new Parts(softmaxKernels()[name], 5);
    return ([first, second], [target]) => {
      const from = addressOf(first!, 'float32');
      const other = second ? addressOf(second, 'float32') : from;
      const to = addressOf(target!, 'float32');
      const isShared = pool.shares(work);
      const step = isShared ? height : rows;
      const args = [0, 0, 0, 0, length];
      for (let row = 0; row < rows; row += step) {
        const skip = row * length * 4;
        args[0] = from + skip;
        args[1] = other + skip;
        args[2] = to + skip;
        args[3] = Math.min(step, rows - row);
        parts.call(args, isShared);
      }
      parts.run();
    };
  };
}

export const logSoftmax = byRow('logSoftmax', scalar.logSoftmax, perElement);
export const softmax = byRow('softmax', scalar.softmax, perElement);
export const logSoftmaxGrad = byRow('logSoftmaxGrad', scalar.logSoftmaxGrad, perElement);
export const softmaxGrad = byRow('softmaxGrad', scalar.softmaxGrad, perGradElement);

type Four = readonly [number, number, number, number];

/** Bitwise identical to `logSoftmaxGrad` of `nllLossGrad`: 0 − q and share − q, with q = exp(out) · share. */
export const crossEntropyGrad: KernelFactory = (inputs, outputs, attrs) => {
  const [, target, logProbs] = inputs;
  if (!hasSimd || logProbs!.dtype !== 'float32') {
    return scalarCrossEntropyGrad(inputs, outputs, attrs);
  }
  expectContiguous(target!, logProbs!, outputs[0]!);
  const [n, classes] = logProbs!.shape as [number, number];
  const { probabilityShare } = softmaxKernels();
  const work = n * classes * perElement;
  const parts = new Parts(probabilityShare, 5);
  const metas = [inputs[0]!, target!, logProbs!, outputs[0]!];
  return ([share, labels, out], [to]) => {
    const at = placesOf([share!, labels!, out!, to!], metas) as Four;
    const scratch = argumentsAt / 4;
    if (classes < leastClasses || !pool.shares(work)) {
      const args = [...at, n, classes, scratch, probabilityShare] as const;
      hostCalls.call(lossMethods, 'crossEntropyGradOfRows', args);
      return;
    }
    const [shareAt, labelsAt, from, into] = at;
    const own = heap.f32[shareAt]!;
    lossMethods.writeShares(own, scratch);
    const { numbers } = pool;
    for (let row = 0; row < n; row++) {
      const label = lossMethods.labelAt(labelsAt + row, classes);
      let to = parts.nextAt();
      numbers[to++] = (from + row * classes) * 4;
      numbers[to++] = (label === null ? scratch + 1 : scratch) * 4;
      numbers[to++] = (into + row * classes) * 4;
      numbers[to++] = 1;
      numbers[to++] = classes;
    }
    parts.run();
    for (let row = 0; row < n; row++) {
      lossMethods.addShare(own, lossMethods.labelAt(labelsAt + row, classes), into + row * classes);
    }
  };
};
