import { multiplyDims } from '../emit/dims.ts';
import type { Value } from '../emit/emitter.ts';
import { fixedList, type OpMapping } from '../emit/op-mapping.ts';

/** Values and places in the plane of the largest entry of each window. */
const maxPool2d: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [x] = inputs as [Value];
  const [n, c, h, w] = x.shape as [Value['shape'][number], ...Value['shape']];
  const [kernel, strides, padding, dilations] = ['kernel', 'stride', 'padding', 'dilation'].map(
    (name) => fixedList(call, name),
  ) as [readonly number[], readonly number[], readonly number[], readonly number[]];
  const { shape } = outputs[0]!;
  const [rows, columns] = fixedList(call, 'size') as [number, number];
  // Windows that reach over the end are part of the result where it is rounded up.
  const ends = [h, w].map((size, i) => {
    const reach = dilations[i]! * (kernel[i]! - 1) + 1;
    const covered = ([rows, columns][i]! - 1) * strides[i]! + reach;
    return typeof size === 'number'
      ? Math.max(padding[i]!, covered - size - padding[i]!)
      : padding[i]!;
  });
  const element = x.element === 'bf16' ? 'f32' : x.element;
  const results = [
    { element, shape },
    { element: 'i64' as const, shape },
  ];
  const [values, places] = to.node('MaxPool', [to.convert(x, element)], results, {
    kernel_shape: kernel,
    strides,
    dilations,
    pads: [...padding, ...ends],
  }) as [Value, Value];
  // ONNX counts places through the whole tensor.
  const plane = multiplyDims(h!, w!);
  const planes = to.iota(multiplyDims(n, c!));
  const starts = to.binary('multiply', planes, to.dim(plane));
  const inPlane = to.binary('subtract', places, to.reshape(starts, [n, c!, 1, 1]));
  return [to.convert(values, x.element), to.convert(inPlane, 'i32')];
};

const maxPool2dGrad: OpMapping = ({ to, inputs, outputs }) => {
  const [dy, indices] = inputs as [Value, Value];
  const [n, c, h, w] = outputs[0]!.shape as [Value['shape'][number], ...Value['shape']];
  const windows = multiplyDims(dy.shape[2]!, dy.shape[3]!);
  const rows = [n, c!, windows];
  const [own, places] = [dy, indices].map((each) => to.reshape(each, rows)) as [Value, Value];
  const zeros = to.zeros(dy.element, [n, c!, multiplyDims(h!, w!)]);
  const attributes = { axis: 2, reduction: 'add' };
  const sum = to.op('ScatterElements', [zeros, places, own], dy.element, zeros.shape, attributes);
  return to.reshape(sum, outputs[0]!.shape);
};

export const poolingOps: Readonly<Record<string, OpMapping>> = { maxPool2d, maxPool2dGrad };
