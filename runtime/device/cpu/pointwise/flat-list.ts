import { type DType, dtypes } from '../../../spec/dtype.ts';
import type { Operand } from '../../device.ts';
import type { Attrs } from '../../kernel-op.ts';
import { heap, partArgumentsBytes } from '../core/heap.ts';
import { addressOf } from '../core/kernel.ts';
import { argumentsAt } from '../core/scratch.ts';
import { mostParts } from '../threads/control.ts';
import { Parts } from '../threads/parts.ts';
import { pool } from '../threads/pool.ts';
import type { Kernel } from '../wasm/assembler/module-builder.ts';
import type { PointwiseKernel } from '../wasm/pointwise-kernel.ts';

import {
  argumentWords,
  attrWordsOf,
  overlaps,
  partLength,
  partWords,
  putAttrs,
} from './call-arguments.ts';

/** The approximate number of parts of a list: enough for threads to finish together, few enough to be bound quickly. */
const targetParts = 128;

/** A kernel over one loop of dense operands: those of its launch, inputs before outputs. */
export interface Flat {
  readonly kernel: PointwiseKernel;
  readonly kinds: readonly DType[];
  /** Indices of the operands that it writes. */
  readonly written: readonly number[];
  readonly size: number;
}

/** A flat kernel with the lists of operands for a launch, which the caller fills. */
export interface FlatItem extends Flat {
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Operand[];
}

/**
 * Binds one kernel to the operands of several independent ops with the same attributes. The launch returns false
 * without having done anything if an operand overlaps another one.
 */
export function bindFlatList(
  items: readonly FlatItem[],
  attrs: Attrs,
): (now: Attrs | undefined) => boolean {
  const { kernel, kinds } = items[0]!;
  const { run } = kernel;
  const count = kinds.length;
  const attrWords = attrWordsOf(kernel, attrs);
  const work = items.reduce((sum, { size }) => sum + size * kernel.nanoseconds, 0);
  const size = items.reduce((sum, item) => sum + item.size, 0);
  const leastLength = Math.ceil(size / targetParts / 16) * 16;
  const steps = kinds.map(() => [1]);
  const most = Math.min(mostParts, Math.floor(partArgumentsBytes / (count * 12)));
  const elementBytes = kinds.map((dtype) => dtypes[dtype].bytes);
  const parts = new Parts(run as Kernel, 3, most);
  const operandOf = ({ inputs, outputs }: FlatItem, k: number): Operand =>
    k < inputs.length ? inputs[k]! : outputs[k - inputs.length]!;
  const addParts = (item: FlatItem): void => {
    const { numbers } = pool;
    const length = Math.max(leastLength, partLength(item.size, kernel.nanoseconds));
    for (let from = 0; from < item.size; from += length) {
      const part = parts.next();
      const words = heap.i32;
      const block = partWords + part * count * 3;
      for (let k = 0; k < count; k++) {
        words[block + k * 3] = addressOf(operandOf(item, k), kinds[k]!) + from * elementBytes[k]!;
      }
      numbers[part * 3] = block * 4;
      numbers[part * 3 + 1] = Math.min(length, item.size - from);
      numbers[part * 3 + 2] = 1;
    }
  };
  const runItem = (item: FlatItem): void => {
    const words = heap.i32;
    for (let k = 0; k < count; k++) {
      words[argumentWords + k * 3] = addressOf(operandOf(item, k), kinds[k]!);
    }
    run(argumentsAt, item.size, 1);
  };
  const operands = new Array<Operand>(count);
  const lieApart = (item: FlatItem): boolean => {
    for (let k = 0; k < count; k++) operands[k] = operandOf(item, k);
    return !overlaps(operands, item.written, steps);
  };
  return (now) => {
    if (!items.every(lieApart)) return false;
    putAttrs(kernel, now, attrWords, argumentWords + count * 3);
    const isShared = pool.shares(work);
    for (const item of items) {
      if (isShared) addParts(item);
      else if (item.size > 0) runItem(item);
    }
    parts.run();
    return true;
  };
}
