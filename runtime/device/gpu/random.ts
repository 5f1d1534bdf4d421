import { toNormals } from '../../random/box-muller.ts';
import { randomBlock, toUniform } from '../../random/philox.ts';
import type { Attrs } from '../kernel-op.ts';

/** Returns numbers `offset`, `offset + 1`, … of the seed's stream, bitwise identical to the CPU device. */
export function randomNumbers(
  kind: 'uniform' | 'normal',
  attrs: Attrs,
  count: number,
): Float32Array<ArrayBuffer> {
  const seed = attrs.seed as number;
  const offset = attrs.offset as number;
  const result = new Float32Array(count);
  const words = new Int32Array(4);
  const numbers = new Float64Array(4);
  for (let block = Math.floor(offset / 4); block * 4 < offset + count; block++) {
    randomBlock(seed, block, words);
    if (kind === 'normal') toNormals(words, numbers);
    else for (let lane = 0; lane < 4; lane++) numbers[lane] = toUniform(words[lane]!);
    for (let lane = 0; lane < 4; lane++) {
      const i = block * 4 + lane - offset;
      if (i >= 0 && i < count) result[i] = numbers[lane]!;
    }
  }
  return result;
}
