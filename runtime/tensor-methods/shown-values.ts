/** The values in a tensor's printed text; of a long tensor, only the corners are read. */

import type { Operand } from '../device/device.ts';
import type { TensorMeta } from '../device/tensor-meta.ts';
import type { TypedArray } from '../spec/dtype.ts';
import { contiguousStrides, type Shape, sizeOf } from '../spec/shape.ts';
import { numbersOf } from '../spec/stored-numbers.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** The number of entries printed at each end of a shortened dimension. */
export const edgeItems = 3;
/** Tensors with more elements are shortened. */
const threshold = 1000;

/** Printed numbers in row-major order. */
export interface ShownValues {
  readonly data: ArrayLike<number>;
  readonly shape: Shape;
  /** Whether each dimension omits entries after the first `edgeItems`. */
  readonly cut: readonly boolean[];
}

/** A block of a tensor, without gaps. */
interface Block {
  /** The block's meta within the tensor. */
  readonly meta: TensorMeta;
  readonly source: Operand;
  /** The index of the block's first element among the printed entries, per dimension. */
  readonly place: readonly number[];
}

interface Layout {
  readonly shape: Shape;
  readonly cut: readonly boolean[];
  readonly blocks: readonly Block[];
}

function layoutOf(x: Tensor): Layout {
  const shortened = sizeOf(x.shape) > threshold;
  const cut = x.shape.map((size) => shortened && size > 2 * edgeItems);
  const shape = x.shape.map((size, d) => (cut[d] ? 2 * edgeItems : size));
  let blocks: Block[] = [{ meta: { ...metaOf(x), shape }, source: x, place: shape.map(() => 0) }];
  cut.forEach((isCut, dim) => {
    if (isCut) blocks = blocks.flatMap((block) => ends(block, dim, x.shape[dim]!));
  });
  return { shape, cut, blocks };
}

function metaOf({ dtype, shape, strides, offset, device }: Tensor): TensorMeta {
  return { dtype, shape, strides, offset, device };
}

/** Returns the first and last entries of a dimension of `size`, or all of them if it is short. */
function ends({ meta, source, place }: Block, dim: number, size: number): Block[] {
  return [0, 1].map((which) => {
    const skipped = which === 0 ? 0 : (size - edgeItems) * meta.strides[dim]!;
    const offset = source.offset + skipped;
    return {
      meta: { ...meta, shape: meta.shape.with(dim, edgeItems), offset },
      source: { holder: source.holder, offset },
      place: place.with(dim, which * edgeItems),
    };
  });
}

function assembled({ shape, cut, blocks }: Layout, read: readonly TypedArray[]): ShownValues {
  if (blocks.length === 1) return { data: numbersOf(read[0]!, blocks[0]!.meta.dtype), shape, cut };
  const strides = contiguousStrides(shape);
  const data = new Float64Array(sizeOf(shape));
  blocks.forEach(({ meta, place }, i) => {
    const values = numbersOf(read[i]!, meta.dtype);
    let from = 0;
    const visit = (dim: number, to: number): void => {
      if (dim === shape.length) {
        data[to] = values[from++]!;
        return;
      }
      for (let k = 0; k < meta.shape[dim]!; k++)
        visit(dim + 1, to + (place[dim]! + k) * strides[dim]!);
    };
    visit(0, 0);
  });
  return { data, shape, cut };
}

/** Returns the printed values of a tensor with memory, on a synchronously readable device. */
export function shownValues(x: Tensor): ShownValues {
  const layout = layoutOf(x);
  const read = layout.blocks.map(({ meta, source }) => x.device.downloadSync(meta, source));
  return assembled(layout, read);
}

export async function shownValuesAsync(x: Tensor): Promise<ShownValues> {
  const layout = layoutOf(x);
  const read = layout.blocks.map(({ meta, source }) => x.device.download(meta, source));
  return assembled(layout, await Promise.all(read));
}
