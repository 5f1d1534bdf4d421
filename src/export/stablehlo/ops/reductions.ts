import { isFloat, wideElement } from '../../lowering/target.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

const lowest = (element: Value['element']) =>
  isFloat(element) ? Number.NEGATIVE_INFINITY : element === 'i32' ? -(2 ** 31) : 0;
const highest = (element: Value['element']) =>
  isFloat(element)
    ? Number.POSITIVE_INFINITY
    : element === 'i32'
      ? 2 ** 31 - 1
      : element === 'ui8'
        ? 255
        : 1;

function reduction(name: 'add' | 'multiply' | 'maximum' | 'minimum'): OpMapping {
  return ({ to, inputs, outputs, attrs, metas }) => {
    const x = inputs[0]!;
    const dims = (attrs.dims ?? [attrs.dim]) as readonly number[];
    const isSum = name === 'add' || name === 'multiply';
    const own = isSum ? to.convert(x, wideElement(x.element)) : x;
    const init =
      name === 'add'
        ? 0
        : name === 'multiply'
          ? 1
          : name === 'maximum'
            ? lowest(x.element)
            : highest(x.element);
    const { shape } = outputs[0]!;
    const reduced = to.reduce(name, own, init, dims);
    return to.reshape(to.convert(reduced, metas[0]!.dtype === 'bool' ? 'i1' : x.element), shape);
  };
}

/** Along the last dimension: the value for each of its elements. */
export function rowwise(to: Emitter, name: 'add' | 'maximum', x: Value): Value {
  const last = x.shape.length - 1;
  const init = name === 'add' ? 0 : Number.NEGATIVE_INFINITY;
  const reduced = to.reduce(name, x, init, [last]);
  return to.broadcastIn(
    reduced,
    reduced.shape.map((_, d) => d),
    x.shape,
  );
}

/** The index of the first largest or smallest entry; NaN is both. */
function place(name: 'maximum' | 'minimum'): OpMapping {
  return ({ to, inputs, outputs, attrs }) => {
    const x = inputs[0]!;
    const dim = attrs.dim as number;
    const init = name === 'maximum' ? lowest(x.element) : highest(x.element);
    const best = to.reduce(name, x, init, [dim]);
    const kept = x.shape.flatMap((_, d) => (d === dim ? [] : [d]));
    const wide = to.broadcastIn(best, kept, x.shape);
    let hit = to.compare('EQ', x, wide);
    if (isFloat(x.element)) hit = to.binary('or', hit, to.compare('NE', x, x));
    const numbers = to.iota('i32', x.shape, dim);
    const none = to.constant(2 ** 31 - 1, 'i32', x.shape);
    const first = to.reduce('minimum', to.select(hit, numbers, none), 2 ** 31 - 1, [dim]);
    return to.reshape(first, outputs[0]!.shape);
  };
}

/** Sums of the entries up to each one. */
const cumsum: OpMapping = ({ to, inputs, attrs }) => {
  const x = to.convert(inputs[0]!, wideElement(inputs[0]!.element));
  const dim = attrs.dim as number;
  if (x.shape.length === 0 || x.shape.includes(0)) return inputs[0]!;
  const size = x.shape[dim]!;
  const windows = x.shape.map((_, d) => (d === dim ? size : 1));
  const ones = x.shape.map(() => 1);
  const padding = x.shape.flatMap((_, d) =>
    d === dim ? [attrs.reverse ? [0, size - 1] : [size - 1, 0]] : [[0, 0]],
  );
  const type = `tensor<${x.element}>`;
  const region = ` ^bb0(%x: ${type}, %y: ${type}): %z = stablehlo.add %x, %y : ${type} stablehlo.return %z : ${type} `;
  const array = (numbers: readonly number[]) => `array<i64: ${numbers.join(', ')}>`;
  const attributes = `window_dimensions = ${array(windows)}, window_strides = ${array(ones)}, base_dilations = ${array(ones)}, window_dilations = ${array(ones)}, padding = dense<${JSON.stringify(padding)}> : tensor<${x.shape.length}x2xi64>`;
  const zero = to.constant(0, x.element);
  const sums = to.generic('reduce_window', [x, zero], attributes, x.element, x.shape, region);
  return to.convert(sums, inputs[0]!.element);
};

export const reductionOps: Readonly<Record<string, OpMapping>> = {
  sum: reduction('add'),
  prod: reduction('multiply'),
  max: reduction('maximum'),
  min: reduction('minimum'),
  argmax: place('maximum'),
  argmin: place('minimum'),
  cumsum,
  addSum_: (call) => {
    const { to, inputs } = call;
    const [out, x] = inputs as [Value, Value];
    const added = reduction('add')({ ...call, inputs: [x], metas: [call.metas[1]!] }) as Value;
    return to.binary('add', out, added);
  },
};
