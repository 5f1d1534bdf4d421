/** Parts of a long sum that end anywhere are the blocks of the whole sum, in their order. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BlockRange, blockRanges } from '../../src/5-optimize/slices/block-ranges.ts';

/** Which elements are added up in which order: brackets around the sum of a block. */
function textOf(length: number, parts: number, block: number, isProduct: boolean): string {
  const own = length / parts;
  let [total, open] = ['', ''];
  const elements = ({ from, length }: BlockRange) =>
    Array.from({ length }, (_, i) => `${from + i} `).join('');
  /** What a kernel makes of some elements that begin a block. */
  const inBlocks = (range: BlockRange): string => {
    let text = '';
    for (let at = range.from; at < range.from + range.length; at += block) {
      const size = Math.min(block, range.from + range.length - at);
      text += `(${elements({ ...range, from: at, length: size })})`;
    }
    return text;
  };
  for (let part = 0; part < parts; part++) {
    for (const range of blockRanges([part * own, (part + 1) * own], length, block, isProduct)) {
      if (range.kind === 'whole' && range.begins) total += inBlocks(range);
      else if (range.kind === 'whole') {
        // A product goes on within its first block.
        expect(range.from).toBeLessThan(block);
        const rest = Math.min(block - range.from, range.length);
        const after = { ...range, from: range.from + rest, length: range.length - rest };
        total = `${total.slice(0, -1)}${elements({ ...range, length: rest })})${inBlocks(after)}`;
      } else {
        expect(open === '').toBe(range.begins);
        open += elements(range);
        if (!range.closes) continue;
        total += `(${open})`;
        open = '';
      }
    }
  }
  expect(open).toBe('');
  return total;
}

it.each([true, false])('product %s', (isProduct) => {
  let split = 0;
  const sizes = fc.record({
    own: fc.integer({ min: 1, max: 40 }),
    parts: fc.integer({ min: 1, max: 9 }),
    block: fc.integer({ min: 1, max: 12 }),
  });
  fc.assert(
    fc.property(sizes, ({ own, parts, block }) => {
      const length = own * parts;
      expect(textOf(length, parts, block, isProduct)).toBe(textOf(length, 1, block, isProduct));
      if (parts > 1 && own % block !== 0) split++;
    }),
    { numRuns: 300, seed: 3 },
  );
  expect(split).toBeGreaterThan(100);
});
