/** A range of a long sum, all of it in one block, or of whole blocks. */
export interface BlockRange {
  readonly from: number;
  readonly length: number;
  /**
   * `whole`: it joins the total as it is. `open`: it goes to a sum of its own, of a block that ends in a later part or
   * began in an earlier one.
   */
  readonly kind: 'whole' | 'open';
  /** This is the first range of an open block, or its last one. */
  readonly begins: boolean;
  readonly closes: boolean;
}

/**
 * In: elements `from` to `to` of a sum of `length` that goes in blocks. Out: what of them is whole blocks, and what is a
 * part of one. In its first block the total of a product is the sum of that block, so that any part of it joins, and its
 * kernel takes a shorter last block as it is.
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
