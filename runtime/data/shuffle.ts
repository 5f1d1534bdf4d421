import { randomBlock } from '../random/philox.ts';

/**
 * Returns the numbers 0 … count − 1 in an order that depends only on (seed, offset). Fisher-Yates with one random
 * number each, so the result is the same on every machine and Node version.
 */
export function shuffledOrder(count: number, seed: number, offset: number): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  const block = new Int32Array(4);
  let current = -1;
  for (let i = count - 1; i > 0; i--) {
    const at = offset + i;
    const index = Math.floor(at / 4);
    if (index !== current) randomBlock(seed, index, block);
    current = index;
    const fraction = (block[at % 4]! >>> 0) / 2 ** 32;
    const other = Math.floor(fraction * (i + 1));
    const kept = order[i]!;
    order[i] = order[other]!;
    order[other] = kept;
  }
  return order;
}
