import { sizeOf } from '../../../../runtime/tensor/shape.ts';
import { drawn, type RandomWords } from '../../lowering/random-draws.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { numberAttr, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

/** Philox4x32-10 as in `runtime/random/philox.ts`: the same numbers of the same stream. */
const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;

/** The words of the block that each of `count` elements lies in. */
function wordsFor(call: OpCall, count: number): RandomWords<Value> {
  const { to } = call;
  const shape = [count];
  const c64 = (value: number) => to.constant(value, 'ui64', shape);
  const split = (value: Value): [Value, Value] => [
    to.convert(to.binary('and', value, c64(0xffffffff)), 'ui32'),
    to.convert(to.binary('shift_right_logical', value, c64(32)), 'ui32'),
  ];
  const wide = (name: string) => to.broadcast(numberAttr(call, name, 'ui64'), shape);
  const place = to.binary('add', wide('offset'), to.iota('ui64', shape, 0));
  let [c0, c1] = split(to.binary('shift_right_logical', place, c64(2)));
  let [c2, c3] = [to.constant(0, 'ui32', shape), to.constant(0, 'ui32', shape)];
  let [k0, k1] = split(wide('seed'));
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

/** The upper 24 bits, in [0, 1). */
function uniformOf(to: Emitter, word: Value): Value {
  const bits = to.binary('shift_right_logical', word, to.constant(8, 'ui32', word.shape));
  return to.binary('multiply', to.convert(bits, 'f32'), to.constant(2 ** -24, 'f32', word.shape));
}

const draw =
  (distribution: 'uniform' | 'normal'): OpMapping =>
  (call) =>
    drawn(
      distribution,
      call,
      () => wordsFor(call, sizeOf(call.outputs[0]!.shape)),
      (word) => uniformOf(call.to, word),
    );

export const randomOps: Readonly<Record<string, OpMapping>> = {
  uniform: draw('uniform'),
  normal: draw('normal'),
};
