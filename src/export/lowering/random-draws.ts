import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { ArithmeticTarget, OpCall, TargetValue } from './target.ts';

interface Target<V extends TargetValue> extends ArithmeticTarget<V> {
  reshape(x: V, shape: V['shape']): V;
}

/** Random words of the block that each element lies in, and the element's lane in it. */
export interface RandomWords<V> {
  readonly words: readonly [V, V, V, V];
  readonly lane: V;
}

/** The call's random numbers in float32: its distribution from uniform numbers, made of random words. */
export function drawn<V extends TargetValue>(
  distribution: 'uniform' | 'normal',
  { to, op, outputs }: Pick<OpCall<V, unknown>, 'op' | 'outputs'> & { readonly to: Target<V> },
  wordsOf: () => RandomWords<V>,
  uniformOf: (word: V) => V,
): V {
  const { shape, dtype } = outputs[0]!;
  if (dtype !== 'float32') {
    throw new ArgumentError({
      what: `export: ${op.name} in ${dtype}`,
      given: dtype,
      expected: 'float32, whose numbers have 24 random bits',
      remedy: "draw in float32 and cast: rand(shape).to('float64')",
    });
  }
  const { words, lane } = wordsOf();
  const numbers = words.map(uniformOf);
  const isLane = (i: number) => to.compare('EQ', lane, to.constant(i, lane.element, lane.shape));
  const choose = (lanes: readonly V[]) =>
    lanes.reduceRight((rest, own, i) => to.select(isLane(i), own, rest));
  if (distribution === 'uniform') return to.reshape(choose(numbers), shape);
  const normals = [0, 2].flatMap((first) => boxMuller(to, numbers[first]!, numbers[first + 1]!));
  return to.reshape(choose(normals), shape);
}

/** Two normal numbers from two uniform ones, computed in float64 and rounded like those of the kernels. */
function boxMuller<V extends TargetValue>(to: Target<V>, u: V, v: V): [V, V] {
  const c = (value: number) => to.constant(value, 'f64', u.shape);
  const [first, second] = [to.convert(u, 'f64'), to.convert(v, 'f64')];
  const log = to.unary('log', to.binary('subtract', c(1), first));
  const radius = to.unary('sqrt', to.binary('multiply', c(-2), log));
  const angle = to.binary('multiply', c(2 * Math.PI), second);
  const times = (name: 'cosine' | 'sine') =>
    to.convert(to.binary('multiply', radius, to.unary(name, angle)), 'f32');
  return [times('cosine'), times('sine')];
}
