/** Texts of instrumented modules are decompressed as zlib does. */

import { readFileSync } from 'node:fs';
import { constants, deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { inflate } from '../../src/1-capture/marked/inflate.ts';

const own = readFileSync(import.meta.filename);
const random = Uint8Array.from(
  { length: 70_000 },
  (_, i) => Math.imul(i * i + 7, 0x9e3779b1) >>> 13,
);
const inputs = {
  nothing: new Uint8Array(0),
  text: own,
  'long repetitions': new TextEncoder().encode('abcde'.repeat(20_000)),
  'what does not repeat': random,
  both: Buffer.concat([random.subarray(0, 30_000), own, random.subarray(0, 33_000), own]),
};

test.each(Object.entries(inputs))('%s', (_, data) => {
  for (const strategy of [
    constants.Z_DEFAULT_STRATEGY,
    constants.Z_FIXED,
    constants.Z_HUFFMAN_ONLY,
  ])
    for (const level of [0, 1, 9]) {
      const packed = deflateRawSync(data, { level, strategy });
      expect(Buffer.compare(inflate(packed), data)).toBe(0);
    }
});

test('data that ends early is rejected', () => {
  const packed = deflateRawSync(own);
  expect(() => inflate(packed.subarray(0, packed.length >> 1))).toThrow('ends early');
});
