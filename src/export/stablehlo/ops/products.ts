import { wideElement } from '../../lowering/target.ts';
import type { Value } from '../emit/emitter.ts';
import { type OpCall, type OpMapping, sizesAttr } from '../emit/op-mapping.ts';

/** Halves are multiplied in float32 and rounded once. */
function product({ to }: OpCall, a: Value, b: Value, shape: readonly number[]): Value {
  const batch = shape.slice(0, -2);
  const wide = (x: Value) => {
    const own = to.convert(x, wideElement(x.element));
    return to.broadcast(own, [...batch, ...x.shape.slice(-2)]);
  };
  return to.matmul(wide(a), wide(b));
}

interface Window {
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
  window: Window,
  groups: { readonly feature: number; readonly batch: number },
  shape: readonly number[],
): Value {
  const { strides, low, high, inputDilation, kernelDilation, reverse } = window;
  const pad = low.map((own, i) => `[${own}, ${high[i]}]`).join(', ');
  const parts = `stride = [${strides}], pad = [${pad}], lhs_dilate = [${inputDilation}], rhs_dilate = [${kernelDilation}], reverse = [${reverse}, ${reverse}]`;
  const type = (value: Pick<Value, 'shape' | 'element'>) =>
    `tensor<${[...value.shape, value.element].join('x')}>`;
  const types = `(${type(x)}, ${type(w)}) -> ${type({ shape, element: x.element })}`;
  const text = `stablehlo.convolution(${x.id}, ${w.id}) dim_numbers = ${layout}, window = {${parts}} {batch_group_count = ${groups.batch} : i64, feature_group_count = ${groups.feature} : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : ${types}`;
  return to.define(text, x.element, shape);
}

const ones = [1, 1];

function sizesOf(call: OpCall) {
  const [stride, padding, dilation] = ['stride', 'padding', 'dilation'].map((name) =>
    sizesAttr(call, name),
  ) as [readonly number[], readonly number[], readonly number[]];
  return { stride, padding, dilation, groups: call.attrs.groups as number };
}

const wideOf = ({ to }: OpCall, x: Value) => to.convert(x, wideElement(x.element));
const rounded = ({ to, inputs }: OpCall, y: Value) => to.convert(y, inputs[0]!.element);

function conv2d(call: OpCall): Value {
  const { stride, padding, dilation, groups } = sizesOf(call);
  const [x, w] = call.inputs.map((each) => wideOf(call, each)) as [Value, Value];
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
  return rounded(
    call,
    convolution(call, [x, w], layout, window, { feature: groups, batch: 1 }, shape),
  );
}

/** The gradient of the input, and the transposed convolution: the flipped kernel over dilated results. */
function inputGradient(call: OpCall): Value {
  const { to } = call;
  const { stride, padding, dilation, groups } = sizesOf(call);
  const [dy, w] = call.inputs.slice(0, 2).map((each) => wideOf(call, each)) as [Value, Value];
  const { shape } = call.outputs[0]!;
  const [o, c, kh, kw] = w.shape as [number, number, number, number];
  const reach = [kh, kw].map((size, i) => dilation[i]! * (size - 1));
  const low = reach.map((own, i) => own - padding[i]!);
  const high = reach.map((own, i) => {
    const spread = (dy.shape[i + 2]! - 1) * stride[i]! + 1;
    return shape[i + 2]! - spread - low[i]! + own;
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
  return rounded(
    call,
    convolution(call, [dy, kernel], layout, window, { feature: groups, batch: 1 }, shape),
  );
}

/** The images become the features to be summed, and the channels a batch. */
function weightGradient(call: OpCall): Value {
  const { stride, padding, dilation, groups } = sizesOf(call);
  const [dy, x] = call.inputs.slice(0, 2).map((each) => wideOf(call, each)) as [Value, Value];
  const { shape } = call.outputs[0]!;
  const high = padding.map((own, i) => {
    const reach = dilation[i]! * (shape[i + 2]! - 1);
    return reach + stride[i]! * (dy.shape[i + 2]! - 1) + 1 - x.shape[i + 2]! - own;
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
  return rounded(
    call,
    convolution(call, [x, dy], layout, window, { feature: 1, batch: groups }, shape),
  );
}

export const productOps: Readonly<Record<string, OpMapping>> = {
  matmul: (call) => {
    const [a, b] = call.inputs as [Value, Value];
    return rounded(call, product(call, a, b, call.outputs[0]!.shape));
  },
  addMatmul_: (call) => {
    const [x, a, b] = call.inputs as [Value, Value, Value];
    return call.to.binary('add', x, product(call, a, b, x.shape));
  },
  conv2d,
  conv2dInputGrad: inputGradient,
  conv2dWeightGrad: weightGradient,
  convTranspose2d: inputGradient,
  addConv2dWeightGrad_: (call) => {
    const [dw, dy, x, w] = call.inputs as [Value, Value, Value, Value];
    const [, ...metas] = call.metas;
    return call.to.binary('add', dw, weightGradient({ ...call, inputs: [dy, x, w], metas }));
  },
};
