import { sizeOf } from '../spec/shape.ts';
import { badWeights } from './bad-file.ts';
import type { ByteSource } from './byte-source.ts';
import { type ElementType, elementTypes } from './element-type.ts';

/** A tensor in a file, whose data is not yet read. */
export interface StoredTensor {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Offset and strides in elements of the storage; null for row-major order from its start. */
  readonly layout: { readonly strides: readonly number[]; readonly offset: number } | null;
  readonly littleEndian: boolean;
  /** The size of the storage in bytes. */
  readonly bytes: number;
  /** Reads part of the storage; the caller has checked the bounds. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** A limit that no real tensor exceeds. */
const maxRank = 64;

/** Returns the number of elements. Throws DataError if it is not a safe integer. */
export function countElements(format: string, where: string, shape: readonly number[]): number {
  if (shape.length > maxRank) {
    throw badWeights(format, where, `${shape.length} dimensions`, `at most ${maxRank}`);
  }
  // Ignores sizes of 0, which could hide a product beyond exact integers.
  const bound = shape.reduce((product, size) => product * Math.max(size, 1), 8);
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0) || bound > 2 ** 53) {
    throw badWeights(format, where, `shape [${shape.slice(0, 8)}]`, 'sizes that can be counted');
  }
  return sizeOf(shape);
}

/** Returns a tensor stored in row-major order in part of a source. */
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
