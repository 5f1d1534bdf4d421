import { poolingOps } from '../../ops/pooling.ts';
import { fixedList } from '../../target/attributes.ts';
import { type Dim, type Dims, multiplyDims } from '../../target/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall } from '../emit/op-mapping.ts';

/** The maximum of each window, and its position in the plane. */
function maxPool2d(call: OpCall): [Value, Value] {
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
  const planes = to.iota(multiplyDims(n, c!), 'i64');
  const starts = to.binary('multiply', planes, to.dim(plane));
  const inPlane = to.binary('subtract', places, to.reshape(starts, [n, c!, 1, 1]));
  return [to.convert(values, x.element), to.convert(inPlane, 'i32')];
}

/** The start of each window in planes of that width, including padding: int32 [rows, columns]. */
function startsOf(call: OpCall, [, , rows, columns]: Dims, width: Dim): Value {
  const { to } = call;
  const [stride, padding] = [fixedList(call, 'stride'), fixedList(call, 'padding')];
  const along = (d: 0 | 1, size: Dim): Value => {
    const steps = to.binary('multiply', to.iota(size, 'i64'), to.ints([stride[d]!]));
    return to.binary('subtract', steps, to.ints([padding[d]!]));
  };
  const lines = to.binary('multiply', along(0, rows!), to.dim(width));
  const starts = to.binary('add', to.reshape(lines, [rows!, 1]), along(1, columns!));
  return to.convert(starts, 'i32');
}

function maxPool2dGrad({ to, inputs, outputs }: OpCall): Value {
  const [dy, indices] = inputs as [Value, Value];
  const [n, c, h, w] = outputs[0]!.shape as [Value['shape'][number], ...Value['shape']];
  const windows = multiplyDims(dy.shape[2]!, dy.shape[3]!);
  const rows = [n, c!, windows];
  const [gradient, places] = [dy, indices].map((each) => to.reshape(each, rows)) as [Value, Value];
  const zeros = to.zeros(dy.element, [n, c!, multiplyDims(h!, w!)]);
  const attributes = { axis: 2, reduction: 'add' };
  const sum = to.op(
    'ScatterElements',
    [zeros, places, gradient],
    dy.element,
    zeros.shape,
    attributes,
  );
  return to.reshape(sum, outputs[0]!.shape);
}

export const poolOps = poolingOps<Value, Emitter>({
  forward: maxPool2d,
  backward: maxPool2dGrad,
  starts: startsOf,
});
