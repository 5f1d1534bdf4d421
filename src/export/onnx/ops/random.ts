import { type RandomWords, randomOps } from '../../ops/random-draws.ts';
import { numberAttr } from '../../target/attributes.ts';
import { sizeOfDims } from '../../target/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';

/** Philox4x32-10 as in `runtime/random/philox.ts`: the same numbers of the same stream. */
const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;
const lowBits = 0xffffffff;

/** 32-bit words in int64, for which runtimes have products and bitwise functions. */
class WordArithmetic {
  readonly #to: Emitter;

  constructor(to: Emitter) {
    this.#to = to;
  }

  low(x: Value): Value {
    return this.#bits('BitwiseAnd', x, this.#to.constant(lowBits, 'i64'));
  }

  high(x: Value): Value {
    return this.shifted(x, 32);
  }

  shifted(x: Value, count: number): Value {
    const to = this.#to;
    const inputs = [to.convert(x, 'ui64'), to.constant(count, 'ui64')];
    const shifted = to.op('BitShift', inputs, 'ui64', x.shape, { direction: 'RIGHT' });
    return to.convert(shifted, 'i64');
  }

  xor(x: Value, y: Value): Value {
    return this.#bits('BitwiseXor', x, y);
  }

  lane(x: Value): Value {
    return this.#bits('BitwiseAnd', x, this.#to.constant(3, 'i64'));
  }

  #bits(opType: string, x: Value, y: Value): Value {
    return this.#to.op(opType, [x, y], 'i64', x.shape.length >= y.shape.length ? x.shape : y.shape);
  }
}

/** The words of the block that contains each position. */
function wordsAt(to: Emitter, seed: Value, place: Value): RandomWords<Value> {
  const on = new WordArithmetic(to);
  const c = (value: number) => to.constant(value, 'i64');
  const block = on.shifted(place, 2);
  let [c0, c1] = [on.low(block), on.high(block)];
  let [c2, c3] = [c(0), c(0)];
  let [k0, k1] = [on.low(seed), on.high(seed)];
  for (let round = 0; round < 10; round++) {
    // 64-bit products, which wrap around in int64.
    const first = to.binary('multiply', c0, c(multipliers[0]));
    const second = to.binary('multiply', c2, c(multipliers[1]));
    c0 = on.xor(on.xor(on.high(second), c1), k0);
    c2 = on.xor(on.xor(on.high(first), c3), k1);
    c1 = on.low(second);
    c3 = on.low(first);
    k0 = on.low(to.binary('add', k0, c(weyl[0])));
    k1 = on.low(to.binary('add', k1, c(weyl[1])));
  }
  return { words: [c0, c1, c2, c3], lane: on.lane(place) };
}

export const drawOps = randomOps<Value, Emitter>((call) => {
  const { to } = call;
  const seed = numberAttr(call, 'seed', 'i64');
  return {
    index: to.iota(sizeOfDims(call.outputs[0]!.shape), 'i64'),
    offset: numberAttr(call, 'offset', 'i64'),
    wordsAt: (place) => wordsAt(to, seed, place),
    shifted: (x, bits) => new WordArithmetic(to).shifted(x, bits),
  };
});
