import { sizeOf } from '../../../../runtime/spec/shape.ts';
import { type RandomWords, randomOps } from '../../ops/random-draws.ts';
import { numberAttr } from '../../target/attributes.ts';
import type { Emitter, Value } from '../emit/emitter.ts';

/** Philox4x32-10 as in `runtime/random/philox.ts`: the same numbers of the same stream. */
const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;

/** The words of the block that contains each position. */
function wordsAt(to: Emitter, seed: Value, place: Value): RandomWords<Value> {
  const { shape } = place;
  const c64 = (value: number) => to.constant(value, 'ui64', shape);
  const split = (value: Value): [Value, Value] => [
    to.convert(to.binary('and', value, c64(0xffffffff)), 'ui32'),
    to.convert(to.binary('shift_right_logical', value, c64(32)), 'ui32'),
  ];
  let [c0, c1] = split(to.binary('shift_right_logical', place, c64(2)));
  let [c2, c3] = [to.constant(0, 'ui32', shape), to.constant(0, 'ui32', shape)];
  let [k0, k1] = split(seed);
  const multiply = (x: Value, by: number) => {
    return split(to.binary('multiply', to.convert(x, 'ui64'), c64(by)));
  };
  for (let round = 0; round < 10; round++) {
    const [low0, high0] = multiply(c0, multipliers[0]);
    const [low1, high1] = multiply(c2, multipliers[1]);
    c0 = to.binary('xor', to.binary('xor', high1, c1), k0);
    c1 = low1;
    c2 = to.binary('xor', to.binary('xor', high0, c3), k1);
    c3 = low0;
    k0 = to.binary('add', k0, to.constant(weyl[0], 'ui32', shape));
    k1 = to.binary('add', k1, to.constant(weyl[1], 'ui32', shape));
  }
  return { words: [c0, c1, c2, c3], lane: to.binary('and', place, c64(3)) };
}

export const drawOps = randomOps<Value, Emitter>((call) => {
  const { to } = call;
  const shape = [sizeOf(call.outputs[0]!.shape)];
  const wide = (name: string) => to.expand(numberAttr(call, name, 'ui64'), shape);
  const seed = wide('seed');
  return {
    index: to.iota(shape[0]!, 'ui64'),
    offset: wide('offset'),
    wordsAt: (place) => wordsAt(to, seed, place),
    shifted: (x, bits) =>
      to.binary('shift_right_logical', x, to.constant(bits, x.element, x.shape)),
  };
});
