import { heap } from '../core/heap.ts';
import { pool } from '../threads/pool.ts';
import { hasSimd } from '../wasm/assembler/module-builder.ts';
import { byteKernels } from '../wasm/byte-kernels.ts';

/** Fills and copies of entire memory ranges. In shared memory, JavaScript's `fill` writes byte by byte. */

const perByte = 0.1;
const partBytes = 1 << 18;
const mostParts = 256;

/** Calls `part(from, length)` for pieces of a range. */
function inPieces(bytes: number, part: (from: number, length: number) => void): void {
  const length = Math.max(partBytes, Math.ceil(bytes / mostParts / 64) * 64);
  for (let from = 0; from < bytes; from += length) part(from, Math.min(length, bytes - from));
}

export function fillBytes(at: number, bytes: number, value = 0): void {
  if (!hasSimd) {
    heap.u8.fill(value, at, at + bytes);
    return;
  }
  const { fill } = byteKernels();
  if (!pool.shares(bytes * perByte)) {
    fill(at, value, bytes);
    return;
  }
  const { numbers } = pool;
  let parts = 0;
  inPieces(bytes, (from, length) => {
    numbers[parts * 3] = at + from;
    numbers[parts * 3 + 1] = value;
    numbers[parts++ * 3 + 2] = length;
  });
  pool.run(fill, parts, 3);
}

export function copyBytes(to: number, from: number, bytes: number): void {
  const overlaps = to < from + bytes && from < to + bytes;
  if (!hasSimd || overlaps || !pool.shares(2 * bytes * perByte)) {
    heap.u8.copyWithin(to, from, from + bytes);
    return;
  }
  const { numbers } = pool;
  let parts = 0;
  inPieces(bytes, (start, length) => {
    numbers[parts * 3] = to + start;
    numbers[parts * 3 + 1] = from + start;
    numbers[parts++ * 3 + 2] = length;
  });
  pool.run(byteKernels().copy, parts, 3);
}
