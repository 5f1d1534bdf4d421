/** A range of a long sum: part of one block, or whole blocks. */
export interface BlockRange {
  readonly from: number;
  readonly length: number;
  /**
   * `whole`: added to the total directly. `open`: added to a separate sum, of a block that ends in a later part or
   * began in an earlier one.
   */
  readonly kind: 'whole' | 'open';
  /** Whether this is the first range of an open block, or its last one. */
  readonly begins: boolean;
  readonly closes: boolean;
}

/**
 * In: elements `from` to `to` of a sum of `length` that is computed in blocks. Out: the ranges of whole blocks, and
 * of parts of blocks. In its first block the total of a product is that block's sum, so any part of it can be added
 * directly, and the kernel accepts a shorter last block.
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
