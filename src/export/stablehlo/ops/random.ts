import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import { sizeOf } from '../../../../runtime/tensor/shape.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { numberAttr, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

/** Philox4x32-10 as in `runtime/random/philox.ts`: the same numbers of the same stream. */
const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const weyl = [0x9e3779b9, 0xbb67ae85] as const;

interface Words {
  readonly words: readonly [Value, Value, Value, Value];
  /** Lane of each element in its block, ui64. */
  readonly lane: Value;
}

/** The words of the block that each of `count` elements lies in. */
function wordsFor(call: OpCall, count: number): Words {
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

const laneIs = (to: Emitter, lane: Value, number: number) =>
  to.compare('EQ', lane, to.constant(number, 'ui64', lane.shape));

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
    const { words, lane } = wordsFor(call, sizeOf(shape));
    const numbers = words.map((word) => uniformOf(to, word));
    const choose = (lanes: readonly Value[]) =>
      lanes.reduceRight((rest, own, i) => to.select(laneIs(to, lane, i), own, rest));
    if (distribution === 'uniform') return to.reshape(choose(numbers), shape);
    const normals = [0, 2].flatMap((first) => pair(to, numbers[first]!, numbers[first + 1]!));
    return to.reshape(choose(normals), shape);
  };
}

/** Box–Muller, in float64 as our kernels' own numbers are rounded from it. */
function pair(to: Emitter, u: Value, v: Value): [Value, Value] {
  const c = (value: number) => to.constant(value, 'f64', u.shape);
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
