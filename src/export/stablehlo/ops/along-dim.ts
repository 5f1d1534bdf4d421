import { fixedAttr, fixedList } from '../../target/attributes.ts';
import { isFloat, wideElement } from '../../target/target.ts';
import { array } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

/** The index of the first largest or smallest entry; NaN is both. */
function place(name: 'max' | 'min'): OpMapping {
  return (call) => {
    const { to, inputs, outputs } = call;
    const x = inputs[0]!;
    const dim = fixedAttr(call, 'dim');
    const best = to.reduce(name, x, [dim]);
    const kept = x.shape.flatMap((_, d) => (d === dim ? [] : [d]));
    const wide = to.broadcastIn(best, kept, x.shape);
    let hit = to.compare('EQ', x, wide);
    if (isFloat(x.element)) hit = to.binary('or', hit, to.compare('NE', x, x));
    const numbers = to.iotaIn('i32', x.shape, dim);
    const none = to.constant(2 ** 31 - 1, 'i32', x.shape);
    const first = to.reduce('min', to.select(hit, numbers, none), [dim]);
    return to.reshape(first, outputs[0]!.shape);
  };
}

/** Sums of the entries up to each one. */
const cumsum: OpMapping = (call) => {
  const { to, inputs, attrs } = call;
  const x = to.convert(inputs[0]!, wideElement(inputs[0]!.element));
  const dim = fixedAttr(call, 'dim');
  if (x.shape.length === 0 || x.shape.includes(0)) return inputs[0]!;
  const size = x.shape[dim]!;
  const windows = x.shape.map((_, d) => (d === dim ? size : 1));
  const ones = x.shape.map(() => 1);
  const padding = x.shape.flatMap((_, d) =>
    d === dim ? [attrs.reverse ? [0, size - 1] : [size - 1, 0]] : [[0, 0]],
  );
  const type = `tensor<${x.element}>`;
  const region = ` ^bb0(%x: ${type}, %y: ${type}): %z = stablehlo.add %x, %y : ${type} stablehlo.return %z : ${type} `;
  const attributes = `window_dimensions = ${array(windows)}, window_strides = ${array(ones)}, base_dilations = ${array(ones)}, window_dilations = ${array(ones)}, padding = dense<${JSON.stringify(padding)}> : tensor<${x.shape.length}x2xi64>`;
  const zero = to.constant(0, x.element);
  const sums = to.generic('reduce_window', [x, zero], attributes, x.element, x.shape, region);
  return to.convert(sums, inputs[0]!.element);
};

export const alongDimOps: Readonly<Record<string, OpMapping>> = {
  argmax: place('max'),
  argmin: place('min'),
  cumsum,
  flip: (call) => call.to.reverse(call.inputs[0]!, fixedList(call, 'dims')),
};
