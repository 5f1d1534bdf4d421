import type { TargetCall } from '../target/op-mapping.ts';
import type { TargetValue, TensorTarget } from '../target/target.ts';

/** The random words of the block that contains each position, and the position's lane in it. */
export interface RandomWords<V> {
  readonly words: readonly [V, V, V, V];
  readonly lane: V;
}

/** The stream of random words of a call, in an engine's integers. */
interface RandomStream<V> {
  /** 0, 1, 2, … for the elements [count]. */
  readonly index: V;
  /** The call's position in the stream, for each element. */
  readonly offset: V;
  wordsAt(place: V): RandomWords<V>;
  /** Drops the lowest bits. */
  shifted(x: V, bits: number): V;
}

type Distribution = 'uniform' | 'normal';

/** The ops that draw random numbers: their distributions, computed from uniform numbers. */
export function randomOps<V extends TargetValue, T extends TensorTarget<V>>(
  streamOf: (call: TargetCall<V, T>) => RandomStream<V>,
): Readonly<Record<Distribution, (call: TargetCall<V, T>) => V>> {
  const drawing = (distribution: Distribution) => (call: TargetCall<V, T>) => {
    const { shape, dtype } = call.outputs[0]!;
    const draws = new Draws(call.to, streamOf(call));
    const numbers = dtype === 'float64' ? draws.doubles(distribution) : draws.singles(distribution);
    return call.to.reshape(numbers, shape);
  };
  return { uniform: drawing('uniform'), normal: drawing('normal') };
}

class Draws<V extends TargetValue> {
  readonly #to: TensorTarget<V>;
  readonly #stream: RandomStream<V>;

  constructor(to: TensorTarget<V>, stream: RandomStream<V>) {
    this.#to = to;
    this.#stream = stream;
  }

  /** Draws one word per element; normal numbers by pairs of lanes. */
  singles(distribution: Distribution): V {
    const to = this.#to;
    const { index, offset } = this.#stream;
    const { words, lane } = this.#stream.wordsAt(to.binary('add', offset, index));
    const numbers = words.map((word) => {
      // The upper 24 bits, in [0, 1).
      const bits = to.convert(this.#stream.shifted(word, 8), 'f32');
      return to.binary('multiply', bits, to.constant(2 ** -24, 'f32', bits.shape));
    });
    if (distribution === 'uniform') return this.#inLane(numbers, lane);
    const normals = [0, 2].flatMap((first) => {
      const pair = [numbers[first]!, numbers[first + 1]!].map((each) => to.convert(each, 'f64'));
      return boxMuller(to, pair[0]!, pair[1]!).map((each) => to.convert(each, 'f32'));
    });
    return this.#inLane(normals, lane);
  }

  /** Draws two words per element; normal numbers by pairs of elements. */
  doubles(distribution: Distribution): V {
    const to = this.#to;
    const { index } = this.#stream;
    if (distribution === 'uniform') return this.#double(index);
    const even = this.#times(this.#stream.shifted(index, 1), 2);
    const [cosine, sine] = boxMuller(to, this.#double(even), this.#double(this.#next(even)));
    return to.select(to.compare('EQ', index, even), cosine, sine);
  }

  /** For these elements, 53 bits of two words, in [0, 1). */
  #double(index: V): V {
    const to = this.#to;
    const place = to.binary('add', this.#stream.offset, this.#times(index, 2));
    const [high, low] = [place, this.#next(place)].map((each) => {
      const { words, lane } = this.#stream.wordsAt(each);
      return this.#inLane(words, lane);
    }) as [V, V];
    const upper = this.#times(to.convert(this.#stream.shifted(high, 5), 'f64'), 2 ** 26);
    const lower = to.convert(this.#stream.shifted(low, 6), 'f64');
    return this.#times(to.binary('add', upper, lower), 2 ** -53);
  }

  #inLane(lanes: readonly V[], lane: V): V {
    const isLane = (i: number) =>
      this.#to.compare('EQ', lane, this.#to.constant(i, lane.element, lane.shape));
    return lanes.reduceRight((rest, each, i) => this.#to.select(isLane(i), each, rest));
  }

  #times(x: V, by: number): V {
    return this.#to.binary('multiply', x, this.#to.constant(by, x.element, x.shape));
  }

  #next(x: V): V {
    return this.#to.binary('add', x, this.#to.constant(1, x.element, x.shape));
  }
}

/** Two normal numbers from two uniform ones, computed in float64 as in the kernels. */
function boxMuller<V extends TargetValue>(to: TensorTarget<V>, u: V, v: V): [V, V] {
  const c = (value: number) => to.constant(value, 'f64', u.shape);
  const log = to.unary('log', to.binary('subtract', c(1), u));
  const radius = to.unary('sqrt', to.binary('multiply', c(-2), log));
  const angle = to.binary('multiply', c(2 * Math.PI), v);
  return [
    to.binary('multiply', radius, to.unary('cosine', angle)),
    to.binary('multiply', radius, to.unary('sine', angle)),
  ];
}
