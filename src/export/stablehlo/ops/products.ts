import { productOps, windowOf } from '../../ops/products.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall } from '../emit/op-mapping.ts';

interface Dilation {
  readonly strides: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly inputDilation: readonly number[];
  readonly kernelDilation: readonly number[];
  readonly reverse: boolean;
}

function convolution(
  { to }: OpCall,
  [x, w]: readonly [Value, Value],
  layout: string,
  window: Dilation,
  groups: { readonly feature: number; readonly batch: number },
  shape: readonly number[],
): Value {
  const { strides, low, high, inputDilation, kernelDilation, reverse } = window;
  const pad = low.map((each, i) => `[${each}, ${high[i]}]`).join(', ');
  const parts = `stride = [${strides}], pad = [${pad}], lhs_dilate = [${inputDilation}], rhs_dilate = [${kernelDilation}], reverse = [${reverse}, ${reverse}]`;
  const type = (value: Pick<Value, 'shape' | 'element'>) =>
    `tensor<${[...value.shape, value.element].join('x')}>`;
  const types = `(${type(x)}, ${type(w)}) -> ${type({ shape, element: x.element })}`;
  const text = `stablehlo.convolution(${x.id}, ${w.id}) dim_numbers = ${layout}, window = {${parts}} {batch_group_count = ${groups.batch} : i64, feature_group_count = ${groups.feature} : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : ${types}`;
  return to.define(text, x.element, shape);
}

const ones = [1, 1];

function conv2d(call: OpCall): Value {
  const { stride, padding, dilation, groups } = windowOf(call);
  const [x, w] = call.inputs as [Value, Value];
  const window = {
    strides: stride,
    low: padding,
    high: padding,
    inputDilation: ones,
    kernelDilation: dilation,
    reverse: false,
  };
  const layout = '[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]';
  const shape = call.outputs[0]!.shape;
  return convolution(call, [x, w], layout, window, { feature: groups, batch: 1 }, shape);
}

/** Returns the gradient of the input, or the transposed convolution: the flipped kernel over dilated results. */
function inputGradient(call: OpCall): Value {
  const { to } = call;
  const { stride, padding, dilation, groups } = windowOf(call);
  const [dy, w] = call.inputs as [Value, Value];
  const { shape } = call.outputs[0]!;
  const [o, c, kh, kw] = w.shape as [number, number, number, number];
  const reach = [kh, kw].map((size, i) => dilation[i]! * (size - 1));
  const low = reach.map((each, i) => each - padding[i]!);
  const high = reach.map((each, i) => {
    const spread = (dy.shape[i + 2]! - 1) * stride[i]! + 1;
    return shape[i + 2]! - spread - low[i]! + each;
  });
  // [groups · o/g, c, …] → [o/g, groups · c, …]
  const grouped = to.transpose(to.reshape(w, [groups, o / groups, c, kh, kw]), [1, 0, 2, 3, 4]);
  const kernel = to.reshape(grouped, [o / groups, groups * c, kh, kw]);
  const window = {
    strides: ones,
    low,
    high,
    inputDilation: stride,
    kernelDilation: dilation,
    reverse: true,
  };
  const layout = '[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]';
  return convolution(call, [dy, kernel], layout, window, { feature: groups, batch: 1 }, shape);
}

/** The images become the summed features, and the channels a batch. */
function weightGradient(call: OpCall): Value {
  const { stride, padding, dilation, groups } = windowOf(call);
  const [dy, x] = call.inputs as [Value, Value];
  const { shape } = call.outputs[0]!;
  const high = padding.map((each, i) => {
    const reach = dilation[i]! * (shape[i + 2]! - 1);
    return reach + stride[i]! * (dy.shape[i + 2]! - 1) + 1 - x.shape[i + 2]! - each;
  });
  const window = {
    strides: dilation,
    low: padding,
    high,
    inputDilation: ones,
    kernelDilation: stride,
    reverse: false,
  };
  const layout = '[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]';
  return convolution(call, [x, dy], layout, window, { feature: 1, batch: groups }, shape);
}

export const matrixOps = productOps<Value, Emitter>({
  forward: conv2d,
  toInput: inputGradient,
  toWeight: weightGradient,
});
