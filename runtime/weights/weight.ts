import { sizeOf } from '../spec/shape.ts';
import { badWeights } from './bad-file.ts';
import type { ByteSource } from './byte-source.ts';
import { type ElementType, elementTypes } from './element-type.ts';

/** One tensor of a file, whose data isn't read yet. */
export interface StoredTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** In elements of the storage; null for row-major order from its beginning. */
  readonly layout: { readonly strides: readonly number[]; readonly offset: number } | null;
  readonly littleEndian: boolean;
  /** Bytes of the storage. */
  readonly bytes: number;
  /** Part of the storage, which the caller has checked to lie inside. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** More dimensions than tensors have. */
const maxRank = 64;

/** How many elements the shape has. Throws DataError for a shape that can't be counted. */
export function countElements(format: string, where: string, shape: readonly number[]): number {
  if (shape.length > maxRank) {
    throw badWeights(format, where, `${shape.length} dimensions`, `at most ${maxRank}`);
  }
  // Zeros don't hide a product beyond what numbers count exactly.
  const bound = shape.reduce((product, size) => product * Math.max(size, 1), 8);
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0) || bound > 2 ** 53) {
    throw badWeights(format, where, `shape [${shape.slice(0, 8)}]`, 'sizes that can be counted');
  }
  return sizeOf(shape);
}

/** A tensor that lies in row-major order in part of a source. */
export function rangeOf(
  source: ByteSource,
  begin: number,
  type: ElementType,
  shape: readonly number[],
  littleEndian = true,
): StoredTensor {
  return {
    type,
    shape,
    layout: null,
    littleEndian,
    bytes: sizeOf(shape) * elementTypes[type].bytes,
    read: (offset, length) => source.read(begin + offset, length),
  };
}
