/** Handwritten digits for workloads. */

import { join } from 'node:path';
import { loadMnist, packagedDirectory } from '../../runtime/data/mnist.ts';
import { type data, type Tensor, zeros } from '../../src/index.ts';

let digits: data.ImageDataset | undefined;

/** Images float32 [n, 1, 28, 28] and labels int32 [n] of batch number `i`, in file order. */
export function digitBatch(i: number, count: number): [images: Tensor, labels: Tensor] {
  digits ??= loadMnist(packagedDirectory([join(import.meta.dirname, 'package.json')])).train;
  const { length } = digits;
  const indices = Int32Array.from({ length: count }, (_, k) => (i * count + k) % length);
  const { images, labels } = digits.batch(indices);
  return [images, labels];
}

/** Returns a batch of the same form without data, for a counting device. */
export function countedBatch(
  count: number,
  channels: number,
  size: number,
): [images: Tensor, labels: Tensor] {
  return [zeros([count, channels, size, size]), zeros([count], { dtype: 'int32' })];
}
