import { type Dims, sizeOfDims } from '../emit/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { fixedAttr, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Elements of a row-major tensor at constant positions. */
export function gatherFlat(
  to: Emitter,
  x: Value,
  places: Int32Array,
  shape: readonly number[],
): Value {
  const flat = to.reshape(x, [sizeOfDims(x.shape)]);
  const index = to.literal(places, 'i64', shape);
  return to.op('Gather', [flat, index], x.element, shape, { axis: 0 });
}

/** `target` with these elements replaced. */
export function writtenFlat(to: Emitter, target: Value, source: Value, places: Int32Array): Value {
  const size = sizeOfDims(target.shape);
  const flat = to.reshape(target, [size]);
  const index = to.literal(places, 'i64', [places.length]);
  const values = to.reshape(source, [places.length]);
  const inputs = [flat, index, values];
  const written = to.op('ScatterElements', inputs, target.element, [size], { axis: 0 });
  return to.reshape(written, target.shape);
}

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

function gatherFrom(to: Emitter, x: Value, index: Value, dim: number): Value {
  const { order, chosen, count } = layoutOf(x, index, dim);
  if (count === 1) {
    const shape = [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + 1)];
    return to.op('Gather', [x, to.reshape(index, chosen)], x.element, shape, { axis: dim });
  }
  const source = to.transpose(x, order);
  const rest = source.shape.slice(count);
  const own = to.op('GatherND', [source, lastDim(to, index)], x.element, [...chosen, ...rest]);
  return to.transpose(own, chosenOrder(dim, chosen.length, own.shape.length));
}

function scatterInto(
  to: Emitter,
  x: Value,
  index: Value,
  source: Value,
  dim: number,
  reduction: 'add' | 'none',
): Value {
  const { order, chosen } = layoutOf(x, index, dim);
  const target = to.transpose(x, order);
  const back = inverse(chosenOrder(dim, chosen.length, source.shape.length));
  const updates = to.transpose(source, back);
  const inputs = [target, lastDim(to, index), updates];
  const written = to.op('ScatterND', inputs, x.element, target.shape, { reduction });
  return to.transpose(written, inverse(order));
}

/** Integers and booleans are summed by scattering in a type that runtimes support. */
function added(call: OpCall, zeros: Value, run: (zeros: Value) => Value): Value {
  const { to } = call;
  if (zeros.element !== 'i1' && zeros.element !== 'ui8') return run(zeros);
  return to.convert(run(to.convert(zeros, 'i32')), zeros.element);
}

const like = (to: Emitter, x: Value, other: Value) => to.convert(x, other.element);

function alongDim(
  call: OpCall,
  x: Value,
  index: Value,
  source: Value,
  reduction: 'add' | 'none',
): Value {
  const { to } = call;
  const axis = fixedAttr(call, 'dim');
  const isScalar = x.shape.length === 0;
  const [own, places, values] = [x, index, prefix(call, source, index)].map((each) =>
    isScalar ? to.reshape(each, [1]) : each,
  ) as [Value, Value, Value];
  const written = to.op('ScatterElements', [own, places, values], x.element, own.shape, {
    axis,
    reduction,
  });
  return to.reshape(written, x.shape);
}

/** Elements of the source that the index has positions for. */
function prefix({ to }: OpCall, source: Value, index: Value): Value {
  return source.shape.reduce<Value>((part, size, d) => {
    const wanted = index.shape[d]!;
    return JSON.stringify(size) === JSON.stringify(wanted)
      ? part
      : to.slice(part, d, 0, wanted, wanted);
  }, source);
}

export const gatheringOps: Readonly<Record<string, OpMapping>> = {
  index: (call) => {
    const [x, index] = call.inputs as [Value, Value];
    return gatherFrom(call.to, x, index, fixedAttr(call, 'dim'));
  },
  indexGrad: (call) => {
    const [dy, index] = call.inputs as [Value, Value];
    const zeros = call.to.zeros(dy.element, call.outputs[0]!.shape);
    return scatterInto(call.to, zeros, index, dy, fixedAttr(call, 'dim'), 'add');
  },
  indexPut: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    return scatterInto(call.to, x, index, source, fixedAttr(call, 'dim'), 'none');
  },
  indexAdd: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    const dim = fixedAttr(call, 'dim');
    return added(call, x, (own) =>
      scatterInto(call.to, own, index, like(call.to, source, own), dim, 'add'),
    );
  },
  gather: (call) => {
    const { to } = call;
    const [x, index] = call.inputs as [Value, Value];
    const isScalar = x.shape.length === 0;
    const [own, places] = [x, index].map((each) => (isScalar ? to.reshape(each, [1]) : each)) as [
      Value,
      Value,
    ];
    const axis = fixedAttr(call, 'dim');
    const found = to.op('GatherElements', [own, places], x.element, places.shape, { axis });
    return to.reshape(found, call.outputs[0]!.shape);
  },
  gatherGrad: (call) => {
    const [dy, index] = call.inputs as [Value, Value];
    const zeros = call.to.zeros(dy.element, call.outputs[0]!.shape);
    return alongDim(call, zeros, index, dy, 'add');
  },
  scatter: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    return alongDim(call, x, index, source, 'none');
  },
  scatterAdd: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    return added(call, x, (own) => alongDim(call, own, index, like(call.to, source, own), 'add'));
  },
};
