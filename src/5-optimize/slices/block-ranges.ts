/** A range of a long sum: a part of one block, or whole blocks. */
export interface BlockRange {
  readonly from: number;
  readonly length: number;
  /**
   * `whole`: added to the total directly. `open`: added to a separate sum, of a block that begins in an earlier part or
   * ends in a later one.
   */
  readonly kind: 'whole' | 'open';
  /** Whether this is the first range of an open block, or its last one. */
  readonly begins: boolean;
  readonly closes: boolean;
}

/**
 * In: elements `from` to `to` of a sum of `length` that is computed in blocks. Out: the ranges of whole blocks, and of
 * parts of blocks. A product's total starts as the sum of its first block, so any part of that block can be added
 * directly. The kernel accepts a shorter last block.
 */
export function blockRanges(
  [from, to]: readonly [number, number],
  length: number,
  block: number,
  isProduct: boolean,
): BlockRange[] {
  const ranges: BlockRange[] = [];
  const isFirst = (at: number) => isProduct && at < block;
  const whole = isProduct && to === length ? to : to - (to % block);
  for (let at = from; at < to; ) {
    const begins = at % block === 0;
    if ((begins || isFirst(at)) && whole > at) {
      ranges.push({ from: at, length: whole - at, kind: 'whole', begins, closes: true });
      at = whole;
      continue;
    }
    const blockEnd = Math.min(at - (at % block) + block, length);
    const end = Math.min(to, blockEnd);
    const kind = isFirst(at) ? 'whole' : 'open';
    ranges.push({ from: at, length: end - at, kind, begins, closes: end === blockEnd });
    at = end;
  }
  return ranges;
}
