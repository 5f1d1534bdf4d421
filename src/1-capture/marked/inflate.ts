/** Decompression of raw DEFLATE data (RFC 1951), in code that costs nothing before its first use. */

import { invariant } from '../../../runtime/errors/invariant.ts';

/** Canonical Huffman codes: how many codes have each length, and the symbols in the order of their codes. */
interface Codes {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

const longestCode = 15;

function codesOf(lengths: readonly number[]): Codes {
  const counts = new Uint16Array(longestCode + 1);
  for (const length of lengths) counts[length]!++;
  counts[0] = 0;
  const next = new Uint16Array(longestCode + 2);
  for (let i = 1; i <= longestCode; i++) next[i + 1] = next[i]! + counts[i]!;
  const symbols = new Uint16Array(lengths.length);
  for (const [symbol, length] of lengths.entries()) if (length) symbols[next[length]!++] = symbol;
  return { counts, symbols };
}

/** Numbers of extra bits: 0 for the first codes, then 0, 1, 2, … for groups of codes. */
const extraBits = (first: number, groupSize: number, groups: number): number[] => [
  ...new Array<number>(first).fill(0),
  ...Array.from({ length: groups * groupSize }, (_, i) => Math.floor(i / groupSize)),
];

/** Returns the smallest value of each code: the ranges covered by the extra bits are consecutive. */
function smallest(bits: readonly number[], first: number): number[] {
  let next = first;
  return bits.map((count) => {
    const value = next;
    next += 1 << count;
    return value;
  });
}

/** The order in which a block lists the lengths of the codes for code lengths. */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Throws an InvariantError if the data ends early or has unknown codes. */
export function inflate(data: Uint8Array): Uint8Array<ArrayBuffer> {
  let at = 0;
  let held = 0;
  let heldBits = 0;
  const bits = (count: number): number => {
    for (; heldBits < count; heldBits += 8) {
      invariant(at < data.length, 'compressed data ends early');
      held |= data[at++]! << heldBits;
    }
    const value = held & ((1 << count) - 1);
    held >>>= count;
    heldBits -= count;
    return value;
  };
  const symbol = ({ counts, symbols }: Codes): number => {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length <= longestCode; length++) {
      code |= bits(1);
      const count = counts[length]!;
      if (code - count < first) return symbols[index + code - first]!;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    invariant(false, 'compressed data has an unknown code');
  };

  let out = new Uint8Array(4 * data.length + 64);
  let size = 0;
  const reserve = (more: number): void => {
    if (size + more <= out.length) return;
    const larger = new Uint8Array(2 * (size + more));
    larger.set(out);
    out = larger;
  };

  const stored = (): void => {
    held = 0;
    heldBits = 0;
    const length = data[at]! | (data[at + 1]! << 8);
    at += 4;
    reserve(length);
    out.set(data.subarray(at, at + length), size);
    size += length;
    at += length;
  };

  // The last length, 258, has a separate code without extra bits.
  const lengthBits = [...extraBits(4, 4, 6), 0];
  const lengths = [...smallest(lengthBits.slice(0, -1), 3), 258];
  const distanceBits = extraBits(2, 2, 14);
  const distances = smallest(distanceBits, 1);

  const compressed = (literals: Codes, offsets: Codes): void => {
    for (let found = symbol(literals); found !== 256; found = symbol(literals)) {
      reserve(258);
      if (found < 256) {
        out[size++] = found;
        continue;
      }
      const length = lengths[found - 257]! + bits(lengthBits[found - 257]!);
      const offset = symbol(offsets);
      const distance = distances[offset]! + bits(distanceBits[offset]!);
      for (let i = 0; i < length; i++, size++) out[size] = out[size - distance]!;
    }
  };

  const listedCodes = (): readonly [Codes, Codes] => {
    const [literals, offsets] = [bits(5) + 257, bits(5) + 1];
    const ofLengths = new Array<number>(19).fill(0);
    for (const place of lengthOrder.slice(0, bits(4) + 4)) ofLengths[place] = bits(3);
    const codes = codesOf(ofLengths);
    const all: number[] = [];
    while (all.length < literals + offsets) {
      const found = symbol(codes);
      if (found < 16) all.push(found);
      else if (found === 16) all.push(...new Array<number>(bits(2) + 3).fill(all.at(-1)!));
      else all.push(...new Array<number>(found === 17 ? bits(3) + 3 : bits(7) + 11).fill(0));
    }
    return [codesOf(all.slice(0, literals)), codesOf(all.slice(literals))];
  };

  const fixedCodes = (): readonly [Codes, Codes] => {
    const lengthOf = (i: number) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    const literals = Array.from({ length: 288 }, (_, i) => lengthOf(i));
    return [codesOf(literals), codesOf(new Array<number>(30).fill(5))];
  };

  for (let isLast = 0; isLast === 0; ) {
    isLast = bits(1);
    const kind = bits(2);
    if (kind === 0) stored();
    else compressed(...(kind === 1 ? fixedCodes() : listedCodes()));
  }
  return out.slice(0, size);
}
