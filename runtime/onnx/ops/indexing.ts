import { index } from '../../ops/advanced-indexing/advanced-index.ts';
import { oneHot } from '../../ops/advanced-indexing/embedding.ts';
import { nonzero } from '../../ops/indexing/data-dependent.ts';
import { gather, scatter } from '../../ops/indexing/gather.ts';
import { where } from '../../ops/pointwise/comparison.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { fromStart } from '../node/axes.ts';
import type { Operator } from '../node/node.ts';
import { missing } from '../node/not-imported.ts';
import { type Host, hostOf, isHost, numberIn, tensorOf, type Value } from '../values/host.ts';
import { wrongSetting } from '../values/wrong-setting.ts';

/** Returns indices counted from the start. */
const places = (indices: Tensor, size: number): Tensor =>
  where(indices.lt(0), indices.add(size), indices);

const gathered: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', 0);
  return ([x, indices]) => {
    if (isHost(x!) && isHost(indices!) && x.shape.length === 1) {
      fromStart(axis, 1);
      const size = x.values.length;
      const values = indices.values.map((index) => x.values[fromStart(index, size)]!);
      return hostOf(values, indices.shape, x.dtype);
    }
    const tensor = tensorOf(x!);
    const dim = fromStart(axis, tensor.rank);
    if (isHost(indices!) && indices.shape.length === 0) {
      const [place] = indices.values as [number];
      return tensor.select(dim, fromStart(place, tensor.shape[dim]!));
    }
    const at = places(tensorOf(indices!), tensor.shape[dim]!);
    const found = tensor.indexSelect(dim, at.reshape([-1]));
    return found.reshape([
      ...tensor.shape.slice(0, dim),
      ...at.shape,
      ...tensor.shape.slice(dim + 1),
    ]);
  };
};

const gatherElements: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', 0);
  return ([x, indices]) => {
    const tensor = tensorOf(x!);
    const dim = fromStart(axis, tensor.rank);
    return gather(tensor, dim, places(tensorOf(indices!), tensor.shape[dim]!));
  };
};

/** Returns the index tuples in the last dimension of `at` as one tensor per leading dimension of `x`. */
function placesAlong(x: Tensor, at: Tensor): Tensor[] {
  const count = at.shape.at(-1) ?? 0;
  if (count >= 1 && count <= x.rank) {
    return Array.from({ length: count }, (_, i) => at.select(at.rank - 1, i));
  }
  throw wrongSetting(`tuples of ${count} places`, `1 to ${x.rank}, the rank`);
}

const gatherNd: Operator = ({ attributes }) => {
  if (attributes.int('batch_dims', 0) !== 0) throw missing('GatherND with batch_dims');
  return ([x, indices]) => {
    const tensor = tensorOf(x!);
    return index(tensor, ...placesAlong(tensor, tensorOf(indices!)));
  };
};

const scatterElements: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', 0);
  const reduction = attributes.choice('reduction', ['none', 'add', 'mul', 'max', 'min'], 'none');
  const names = { add: 'sum', mul: 'prod', max: 'amax', min: 'amin' } as const;
  return ([x, indices, updates]) => {
    const tensor = tensorOf(x!);
    const dim = fromStart(axis, tensor.rank);
    const at = places(tensorOf(indices!), tensor.shape[dim]!);
    const source = tensorOf(updates!);
    if (reduction === 'none') return scatter(tensor, dim, at, source);
    return tensor.scatterReduce(dim, at, source, names[reduction]);
  };
};

/** Returns a list of numbers with some replaced or added to. */
function scatteredHost(x: Host, indices: Host, updates: Host, isAdded: boolean): Host {
  const count = updates.values.length;
  if (indices.values.length !== count || indices.shape.at(-1) !== 1) {
    throw wrongSetting(
      `${indices.values.length} places for ${count} numbers`,
      'one place for each number',
    );
  }
  const values = [...x.values];
  indices.values.forEach((index, i) => {
    const at = fromStart(index, values.length);
    values[at] = updates.values[i]! + (isAdded ? values[at]! : 0);
  });
  return hostOf(values, x.shape, x.dtype);
}

const scatterNd: Operator = ({ attributes }) => {
  const reduction = attributes.choice('reduction', ['none', 'add', 'mul', 'max', 'min'], 'none');
  if (reduction !== 'none' && reduction !== 'add') throw missing(`ScatterND with ${reduction}`);
  return ([x, indices, updates]) => {
    if (isHost(x!) && isHost(indices!) && isHost(updates!) && x.shape.length === 1) {
      return scatteredHost(x, indices, updates, reduction === 'add');
    }
    const tensor = tensorOf(x!);
    const parts = placesAlong(tensor, tensorOf(indices!));
    return tensor.indexPut(parts, tensorOf(updates!), { accumulate: reduction === 'add' });
  };
};

const encoded: Operator = ({ attributes }) => {
  const axis = attributes.int('axis', -1);
  return ([indices, depth, values]) => {
    const indexTensor = tensorOf(indices!).to('int32');
    const classes = Math.trunc(numberIn(depth!));
    const [off, on] = [0, 1].map((i) => tensorOf(values!).select(0, i)) as [Tensor, Tensor];
    const at = places(indexTensor, classes);
    const isInside = at.ge(0).logicalAnd(at.lt(classes));
    const hot = oneHot(where(isInside, at, at.mul(0)), classes).mul(
      isInside.to('int32').unsqueeze(-1),
    );
    const chosen = where(hot.ne(0), on, off);
    return axis === -1 ? chosen : chosen.movedim(-1, fromStart(axis, indexTensor.rank + 1));
  };
};

export const indexingOperators: Readonly<Record<string, Operator>> = {
  Gather: gathered,
  GatherElements: gatherElements,
  GatherND: gatherNd,
  ScatterElements: scatterElements,
  ScatterND: scatterNd,
  OneHot: encoded,
  NonZero:
    () =>
    ([x]) =>
      nonzero(tensorOf(x!)).t() as Value,
};
