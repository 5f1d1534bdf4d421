import { gatheringOps, prefix } from '../../ops/gathering.ts';
import type { Dims } from '../../target/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

interface Layout {
  /** Dimensions that the index selects come first. */
  readonly order: readonly number[];
  readonly chosen: Dims;
  readonly count: number;
}

/** `index` [count, …chosen] selects entries of dimensions `dim` to `dim + count`; the others are kept whole. */
function layoutOf(x: Value, index: Value, dim: number): Layout {
  const count = index.shape[0] as number;
  const rank = x.shape.length;
  const named = range(dim, dim + count);
  const order = [...named, ...range(0, dim), ...range(dim + count, rank)];
  return { order, chosen: index.shape.slice(1), count };
}

/** [count, …chosen] → [...chosen, count] */
function lastDim(to: Emitter, index: Value): Value {
  const rank = index.shape.length;
  return to.transpose(to.convert(index, 'i64'), [...range(1, rank), 0]);
}

/** Moves the selected dimensions to the front, or back. */
function chosenOrder(dim: number, chosen: number, rank: number): readonly number[] {
  return [...range(chosen, chosen + dim), ...range(0, chosen), ...range(chosen + dim, rank)];
}

const inverse = (order: readonly number[]) => order.map((_, d) => order.indexOf(d));

/** Integers and booleans are summed by scattering in a type that runtimes support. */
function widely(to: Emitter, values: readonly [Value, Value], how: ScatterMode, run: Write): Value {
  const [x, source] = values;
  if (how === 'replace' || (x.element !== 'i1' && x.element !== 'ui8')) return run(x, source);
  return to.convert(run(to.convert(x, 'i32'), to.convert(source, 'i32')), x.element);
}

type ScatterMode = 'add' | 'replace';
type Write = (x: Value, source: Value) => Value;

const reductionOf = (how: ScatterMode) => ({ reduction: how === 'add' ? 'add' : 'none' });

/** ONNX has no 0-d operands here. */
const withDim = (to: Emitter, x: Value) => (x.shape.length === 0 ? to.reshape(x, [1]) : x);

export const indexOps = gatheringOps<Value, Emitter>({
  gather(to, x, index, dim) {
    const { order, chosen, count } = layoutOf(x, index, dim);
    if (count === 1) {
      const shape = [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + 1)];
      return to.op('Gather', [x, to.reshape(index, chosen)], x.element, shape, { axis: dim });
    }
    const source = to.transpose(x, order);
    const rest = source.shape.slice(count);
    const slices = to.op('GatherND', [source, lastDim(to, index)], x.element, [...chosen, ...rest]);
    return to.transpose(slices, chosenOrder(dim, chosen.length, slices.shape.length));
  },
  scatter: (to, x, index, source, { dim, how }) =>
    widely(to, [x, source], how, (converted, values) => {
      const { order, chosen } = layoutOf(converted, index, dim);
      const target = to.transpose(converted, order);
      const back = inverse(chosenOrder(dim, chosen.length, values.shape.length));
      const inputs = [target, lastDim(to, index), to.transpose(values, back)];
      const attributes = reductionOf(how);
      const written = to.op('ScatterND', inputs, converted.element, target.shape, attributes);
      return to.transpose(written, inverse(order));
    }),
  gatherAlong(to, x, index, axis) {
    const [source, places] = [withDim(to, x), withDim(to, index)];
    const found = to.op('GatherElements', [source, places], x.element, places.shape, { axis });
    return to.reshape(found, index.shape);
  },
  scatterAlong: (to, x, index, source, { dim: axis, how }) =>
    widely(to, [x, prefix(to, source, index)], how, (widened, values) => {
      const inputs = [widened, index, values].map((each) => withDim(to, each));
      const attributes = { axis, ...reductionOf(how) };
      const { shape } = inputs[0]!;
      const written = to.op('ScatterElements', inputs, widened.element, shape, attributes);
      return to.reshape(written, x.shape);
    }),
});
