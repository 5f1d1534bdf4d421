import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import { sizeOfDims } from '../emit/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { numberAttr, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

/** Philox4x32-10 as in `runtime/random/philox.ts`: the same numbers of the same stream. */
const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;
const lowBits = 0xffffffff;

interface Words {
  readonly words: readonly [Value, Value, Value, Value];
  /** Lane of each element in its block, int64. */
  readonly lane: Value;
}

/** 32-bit words in int64, where runtimes have products and bitwise functions. */
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
    const own = to.op('BitShift', inputs, 'ui64', x.shape, { direction: 'RIGHT' });
    return to.convert(own, 'i64');
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

/** The words of the block that each of `count` elements lies in. */
function wordsFor(call: OpCall, count: Value['shape'][number]): Words {
  const { to } = call;
  const on = new WordArithmetic(to);
  const c = (value: number) => to.constant(value, 'i64');
  const place = to.binary('add', numberAttr(call, 'offset', 'i64'), to.iota(count));
  const block = on.shifted(place, 2);
  let [c0, c1] = [on.low(block), on.high(block)];
  let [c2, c3] = [c(0), c(0)];
  const seed = numberAttr(call, 'seed', 'i64');
  let [k0, k1] = [on.low(seed), on.high(seed)];
  for (let round = 0; round < 10; round++) {
    // Products of 64 bits, which wrap around in int64.
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

/** The upper 24 bits, in [0, 1). */
function uniformOf(to: Emitter, word: Value): Value {
  const bits = new WordArithmetic(to).shifted(word, 8);
  return to.binary('multiply', to.convert(bits, 'f32'), to.constant(2 ** -24, 'f32'));
}

function drawn(distribution: 'uniform' | 'normal'): OpMapping {
  return (call) => {
    const { to, outputs, op } = call;
    const { shape, dtype } = outputs[0]!;
    if (dtype !== 'float32') {
      throw new ArgumentError({
        what: `export: ${op.name} in ${dtype}`,
        given: dtype,
        expected: 'float32, whose numbers have 24 random bits',
        remedy: "draw in float32 and cast: rand(shape).to('float64')",
      });
    }
    const { words, lane } = wordsFor(call, sizeOfDims(shape));
    const numbers = words.map((word) => uniformOf(to, word));
    const isLane = (i: number) => to.compare('EQ', lane, to.constant(i, 'i64'));
    const choose = (lanes: readonly Value[]) =>
      lanes.reduceRight((rest, own, i) => to.select(isLane(i), own, rest));
    if (distribution === 'uniform') return to.reshape(choose(numbers), shape);
    const normals = [0, 2].flatMap((first) => pair(to, numbers[first]!, numbers[first + 1]!));
    return to.reshape(choose(normals), shape);
  };
}

/** Box–Muller, in float64 as our kernels' own numbers are rounded from it. */
function pair(to: Emitter, u: Value, v: Value): [Value, Value] {
  const c = (value: number) => to.constant(value, 'f64');
  const [first, second] = [to.convert(u, 'f64'), to.convert(v, 'f64')];
  const log = to.unary('log', to.binary('subtract', c(1), first));
  const radius = to.unary('sqrt', to.binary('multiply', c(-2), log));
  const angle = to.binary('multiply', c(2 * Math.PI), second);
  const times = (name: 'cosine' | 'sine') =>
    to.convert(to.binary('multiply', radius, to.unary(name, angle)), 'f32');
  return [times('cosine'), times('sine')];
}

export const randomOps: Readonly<Record<string, OpMapping>> = {
  uniform: drawn('uniform'),
  normal: drawn('normal'),
};
