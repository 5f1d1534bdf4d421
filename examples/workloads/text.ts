/**
 * Characters of Shakespeare's Coriolanus, acts I to IV (public domain): the beginning of the file `input.txt` of the
 * tiny-shakespeare collection in the repository karpathy/char-rnn.
 */

import { readFileSync } from 'node:fs';
import { type Tensor, tensor } from '../../src/index.ts';

interface Text {
  /** The distinct characters, by code. */
  readonly alphabet: readonly string[];
  /** The text as indices into the alphabet. */
  readonly codes: Int32Array;
}

let text: Text | undefined;

export function loadText(): Text {
  if (text) return text;
  const characters = readFileSync(new URL('data/coriolanus.txt', import.meta.url), 'utf8');
  const alphabet = [...new Set(characters)].sort();
  const place = new Map(alphabet.map((character, i) => [character, i]));
  text = { alphabet, codes: Int32Array.from(characters, (own) => place.get(own)!) };
  return text;
}

/**
 * Pieces of the text and the character that follows each: two int32 [batch, length]. Piece k of step i
 * begins where piece k of step i − 1 ends.
 */
export function textBatch(
  i: number,
  batch: number,
  length: number,
): [characters: Tensor, next: Tensor] {
  const { codes } = loadText();
  const part = Math.floor((codes.length - 1) / batch);
  const steps = Math.floor(part / length);
  const [from, to] = [new Int32Array(batch * length), new Int32Array(batch * length)];
  for (let row = 0; row < batch; row++) {
    const start = row * part + (i % steps) * length;
    from.set(codes.subarray(start, start + length), row * length);
    to.set(codes.subarray(start + 1, start + 1 + length), row * length);
  }
  const shape = [batch, length];
  return [tensor(from, { shape }), tensor(to, { shape })];
}
