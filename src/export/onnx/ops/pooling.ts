import { type Dim, type Dims, multiplyDims } from '../emit/dims.ts';
import type { Value } from '../emit/emitter.ts';
import { fixedList, type OpCall, type OpMapping } from '../emit/op-mapping.ts';

/** The maximum of each window, and its position in the plane. */
const maxPool2d: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [x] = inputs as [Value];
  const [n, c, h, w] = x.shape as [Value['shape'][number], ...Value['shape']];
  const [kernel, strides, padding, dilations] = ['kernel', 'stride', 'padding', 'dilation'].map(
    (name) => fixedList(call, name),
  ) as [readonly number[], readonly number[], readonly number[], readonly number[]];
  const { shape } = outputs[0]!;
  const [rows, columns] = fixedList(call, 'size') as [number, number];
  // If the size is rounded up, windows that extend past the end are part of the result.
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
  // ONNX counts positions through the whole tensor.
  const plane = multiplyDims(h!, w!);
  const planes = to.iota(multiplyDims(n, c!));
  const starts = to.binary('multiply', planes, to.dim(plane));
  const inPlane = to.binary('subtract', places, to.reshape(starts, [n, c!, 1, 1]));
  return [to.convert(values, x.element), to.convert(inPlane, 'i32')];
};

/** The start of each window in planes of that width, including padding: int32 [rows, columns]. */
function startsOf(call: OpCall, [rows, columns]: Dims, width: Dim): Value {
  const { to } = call;
  const [stride, padding] = [fixedList(call, 'stride'), fixedList(call, 'padding')];
  const along = (d: 0 | 1, size: Dim): Value => {
    const steps = to.binary('multiply', to.iota(size), to.ints([stride[d]!]));
    return to.binary('subtract', steps, to.ints([padding[d]!]));
  };
  const lines = to.binary('multiply', along(0, rows!), to.dim(width));
  const starts = to.binary('add', to.reshape(lines, [rows!, 1]), along(1, columns!));
  return to.convert(starts, 'i32');
}

const maxPool2dCoded: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [values, places] = maxPool2d(call) as [Value, Value];
  const starts = startsOf(call, outputs[1]!.shape.slice(2), inputs[0]!.shape[3]!);
  return [values, to.convert(to.binary('subtract', places, starts), 'ui8')];
};

const maxPool2dCodedGrad: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [dy, codes, ...others] = inputs as [Value, Value, ...Value[]];
  const starts = startsOf(call, dy.shape.slice(2), outputs[0]!.shape[3]!);
  const places = to.binary('add', to.convert(codes, 'i32'), starts);
  return maxPool2dGrad({ ...call, inputs: [dy, places, ...others] });
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

export const poolingOps: Readonly<Record<string, OpMapping>> = {
  maxPool2d,
  maxPool2dCoded,
  maxPool2dGrad,
  maxPool2dCodedGrad,
};
