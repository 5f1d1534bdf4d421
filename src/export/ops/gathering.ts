import { fixedAttr } from '../target/attributes.ts';
import { sameDim } from '../target/dims.ts';
import type { TargetCall } from '../target/op-mapping.ts';
import type { TargetValue, TensorTarget } from '../target/target.ts';

/** How an engine reads and writes the entries that an index selects; negative positions count from the end. */
interface Indexing<V extends TargetValue, T> {
  /** `index` [count, …chosen] selects entries of dimensions `dim` to `dim + count`; the others are kept whole. */
  gather(to: T, x: V, index: V, dim: number): V;
  scatter: Scatter<V, T>;
  /** The index contains, for each element of the result, its position along one dimension. */
  gatherAlong(to: T, x: V, index: V, dim: number): V;
  scatterAlong: Scatter<V, T>;
}

/** Returns a copy of `x` whose entries at `index` are replaced by those of `source`, or summed with them. */
type Scatter<V, T> = (
  to: T,
  x: V,
  index: V,
  source: V,
  at: { readonly dim: number; readonly how: 'add' | 'replace' },
) => V;

export function gatheringOps<V extends TargetValue, T extends TensorTarget<V>>(
  on: Indexing<V, T>,
): Readonly<Record<string, (call: TargetCall<V, T>) => V>> {
  type Mapping = (call: TargetCall<V, T>) => V;
  const reading =
    (gather: Indexing<V, T>['gather']): Mapping =>
    (call) => {
      const [x, index] = call.inputs as [V, V];
      return gather(call.to, x, index, fixedAttr(call, 'dim'));
    };
  const gradient =
    (scatter: Scatter<V, T>): Mapping =>
    (call) => {
      const [dy, index] = call.inputs as [V, V];
      const zeros = call.to.zeros(dy.element, call.outputs[0]!.shape);
      return scatter(call.to, zeros, index, dy, { dim: fixedAttr(call, 'dim'), how: 'add' });
    };
  const writing =
    (scatter: Scatter<V, T>, how: 'add' | 'replace'): Mapping =>
    (call) => {
      const [x, index, source] = call.inputs as [V, V, V];
      return scatter(call.to, x, index, source, { dim: fixedAttr(call, 'dim'), how });
    };
  return {
    index: reading(on.gather),
    indexGrad: gradient(on.scatter),
    indexPut: writing(on.scatter, 'replace'),
    indexAdd: writing(on.scatter, 'add'),
    gather: reading(on.gatherAlong),
    gatherGrad: gradient(on.scatterAlong),
    scatter: writing(on.scatterAlong, 'replace'),
    scatterAdd: writing(on.scatterAlong, 'add'),
  };
}

/** Returns the elements of the source that the index has positions for. */
export function prefix<V extends TargetValue>(to: TensorTarget<V>, source: V, index: V): V {
  return source.shape.reduce<V>((part, size, d) => {
    const length = index.shape[d]!;
    return sameDim(size, length) ? part : to.slice(part, d, 0, length, length);
  }, source);
}
