import { gatheringOps, prefix } from '../../ops/gathering.ts';
import type { Emitter, Value } from '../emit/emitter.ts';

/** Converts negative positions, counted from the end. */
function fromStart(to: Emitter, index: Value, sizes: readonly number[]): Value {
  const zero = to.constant(0, 'i32', index.shape);
  const shape = to.literal(sizes, 'i32', [sizes.length]);
  const size = to.broadcastIn(shape, [0], index.shape);
  return to.select(to.compare('LT', index, zero), to.binary('add', index, size), index);
}

function placesOf(to: Emitter, x: Value, index: Value, dim: number): Value {
  return fromStart(to, index, x.shape.slice(dim, dim + index.shape[0]!));
}

/** Returns the full position of every element that is selected along one dimension. */
function placesAlong(to: Emitter, x: Value, index: Value, dim: number): Value {
  const one = [1, ...index.shape];
  const start = fromStart(to, to.reshape(index, one), [x.shape[dim] ?? 1]);
  if (index.shape.length === 0) return to.reshape(start, [0]);
  const parts = index.shape.map((_, d) => {
    return d === dim ? start : to.reshape(to.iotaIn('i32', index.shape, d), one);
  });
  return to.concatenate(parts, 0);
}

/** A smaller index selects a prefix of `x` along the other dimensions: positions are the same. */
export const indexOps = gatheringOps<Value, Emitter>({
  gather: (to, x, index, dim) => to.gather(x, placesOf(to, x, index, dim), dim),
  scatter: (to, x, index, source, at) => to.scatter(x, placesOf(to, x, index, at.dim), source, at),
  gatherAlong: (to, x, index, dim) => to.gather(x, placesAlong(to, x, index, dim), 0),
  scatterAlong: (to, x, index, source, { dim, how }) =>
    to.scatter(x, placesAlong(to, x, index, dim), prefix(to, source, index), { dim: 0, how }),
});
