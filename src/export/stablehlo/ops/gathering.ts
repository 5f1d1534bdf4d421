import { sizeOf } from '../../../../runtime/spec/shape.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall, OpMapping } from '../emit/op-mapping.ts';

const array = (numbers: readonly number[]) =>
  numbers.length > 0 ? `array<i64: ${numbers.join(', ')}>` : 'array<i64>';
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Elements of a row-major tensor at constant positions. */
export function gatherFlat(
  to: Emitter,
  x: Value,
  places: Int32Array,
  shape: readonly number[],
): Value {
  const flat = to.reshape(x, [sizeOf(x.shape)]);
  const index = to.reshape(to.literal(places, 'i32', [places.length]), [1, places.length]);
  return to.reshape(gatherFrom(to, flat, index, 0), shape);
}

/** `index` [count, …chosen] selects entries of dimensions `dim` to `dim + count`; the others are kept whole. */
export function gatherFrom(to: Emitter, x: Value, index: Value, dim: number): Value {
  const count = index.shape[0]!;
  const chosen = index.shape.slice(1);
  const rank = x.shape.length;
  const named = range(dim, dim + count);
  const shape = [...x.shape.slice(0, dim), ...chosen, ...x.shape.slice(dim + count)];
  const offsets = [...range(0, dim), ...range(dim + chosen.length, rank - count + chosen.length)];
  const sizes = x.shape.map((size, d) => (named.includes(d) ? 1 : size));
  const numbers = `offset_dims = [${offsets}], collapsed_slice_dims = [${named}], start_index_map = [${named}], index_vector_dim = 0`;
  const attributes = `dimension_numbers = #stablehlo.gather<${numbers}>, indices_are_sorted = false, slice_sizes = ${array(sizes)}`;
  return to.generic('gather', [x, index], attributes, x.element, shape);
}

/** A copy of `x` whose entries at `index` are replaced by those of `source`, or summed with them. */
export function scatterInto(
  to: Emitter,
  x: Value,
  index: Value,
  source: Value,
  dim: number,
  how: 'add' | 'replace',
): Value {
  const count = index.shape[0]!;
  const chosen = index.shape.length - 1;
  const rank = x.shape.length;
  const named = range(dim, dim + count);
  const windows = [...range(0, dim), ...range(dim + chosen, rank - count + chosen)];
  const numbers = `update_window_dims = [${windows}], inserted_window_dims = [${named}], scatter_dims_to_operand_dims = [${named}], index_vector_dim = 0`;
  const attributes = `scatter_dimension_numbers = #stablehlo.scatter<${numbers}>, indices_are_sorted = false, unique_indices = false`;
  const type = `tensor<${x.element}>`;
  const sum = `%z = stablehlo.${x.element === 'i1' ? 'or' : 'add'} %x, %y : ${type} `;
  const [line, result] = how === 'add' ? [sum, '%z'] : ['', '%y'];
  const region = ` ^bb0(%x: ${type}, %y: ${type}): ${line}stablehlo.return ${result} : ${type} `;
  return to.generic('scatter', [x, index, source], attributes, x.element, x.shape, region);
}

/** Converts negative positions, counted from the end. */
function fromStart(to: Emitter, index: Value, sizes: readonly number[]): Value {
  const zero = to.constant(0, 'i32', index.shape);
  const own = to.literal(sizes, 'i32', [sizes.length]);
  const size = to.broadcastIn(own, [0], index.shape);
  return to.select(to.compare('LT', index, zero), to.binary('add', index, size), index);
}

function placesOf({ to, attrs }: OpCall, x: Value, index: Value): Value {
  const dim = attrs.dim as number;
  return fromStart(to, index, x.shape.slice(dim, dim + index.shape[0]!));
}

/** The full position of every element that `gather` and `scatter` select along one dimension. */
function alongDim({ to, attrs }: OpCall, x: Value, index: Value): Value {
  const dim = attrs.dim as number;
  const one = [1, ...index.shape];
  const own = fromStart(to, to.reshape(index, one), [x.shape[dim] ?? 1]);
  if (index.shape.length === 0) return to.reshape(own, [0]);
  const parts = index.shape.map((_, d) => {
    return d === dim ? own : to.reshape(to.iota('i32', index.shape, d), one);
  });
  return to.concatenate(parts, 0);
}

const zerosLike = (call: OpCall, x: Value) =>
  call.to.constant(0, x.element, call.outputs[0]!.shape);

/** A smaller index selects a prefix of `x` along the other dimensions: positions are the same. */
export const gatheringOps: Readonly<Record<string, OpMapping>> = {
  index: (call) => {
    const [x, index] = call.inputs as [Value, Value];
    return gatherFrom(call.to, x, placesOf(call, x, index), call.attrs.dim as number);
  },
  indexGrad: (call) => {
    const [dy, index] = call.inputs as [Value, Value];
    const zeros = zerosLike(call, dy);
    const places = placesOf(call, zeros, index);
    return scatterInto(call.to, zeros, places, dy, call.attrs.dim as number, 'add');
  },
  indexPut: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    const places = placesOf(call, x, index);
    return scatterInto(call.to, x, places, source, call.attrs.dim as number, 'replace');
  },
  indexAdd: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    const places = placesOf(call, x, index);
    return scatterInto(call.to, x, places, source, call.attrs.dim as number, 'add');
  },
  gather: (call) => {
    const [x, index] = call.inputs as [Value, Value];
    return gatherFrom(call.to, x, alongDim(call, x, index), 0);
  },
  gatherGrad: (call) => {
    const [dy, index] = call.inputs as [Value, Value];
    const zeros = zerosLike(call, dy);
    return scatterInto(call.to, zeros, alongDim(call, zeros, index), dy, 0, 'add');
  },
  scatter: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    return scatterInto(
      call.to,
      x,
      alongDim(call, x, index),
      prefix(call, source, index),
      0,
      'replace',
    );
  },
  scatterAdd: (call) => {
    const [x, index, source] = call.inputs as [Value, Value, Value];
    return scatterInto(call.to, x, alongDim(call, x, index), prefix(call, source, index), 0, 'add');
  },
};

/** Elements of the source that the index has positions for. */
function prefix({ to }: OpCall, source: Value, index: Value): Value {
  return to.slice(
    source,
    source.shape.map(() => 0),
    index.shape,
  );
}
