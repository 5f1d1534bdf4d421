import type { Value } from '../emit/emitter.ts';
import { type OpCall, type OpMapping, sizesAttr } from '../emit/op-mapping.ts';
import { gatherFrom, scatterInto } from './gathering.ts';

/** The first maximum of each window, and its position in the plane; NaN is the largest. */
const maxPool2d: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const x = inputs[0]!;
  const [n, c, h, w] = x.shape as [number, number, number, number];
  const [kernel, stride, padding, dilation, size] = [
    'kernel',
    'stride',
    'padding',
    'dilation',
    'size',
  ].map((name) => sizesAttr(call, name)) as (readonly number[])[];
  const [rows, columns] = size as [number, number];
  const [kh, kw] = kernel as [number, number];
  const windows = rows * columns;
  const places = new Int32Array(windows * kh * kw);
  for (let i = 0; i < places.length; i++) {
    const k = i % (kh * kw);
    const window = Math.floor(i / (kh * kw));
    const y =
      Math.floor(window / columns) * stride![0]! -
      padding![0]! +
      Math.floor(k / kw) * dilation![0]!;
    const z = (window % columns) * stride![1]! - padding![1]! + (k % kw) * dilation![1]!;
    // After the plane comes an element that no window selects.
    places[i] = y >= 0 && y < h && z >= 0 && z < w ? y * w + z : h * w;
  }
  const plane = to.reshape(x, [n, c, h * w]);
  const outside = to.constant(Number.NEGATIVE_INFINITY, x.element);
  const padded = to.pad(plane, outside, [0, 0, 0], [0, 0, 1]);
  const index = to.literal(places, 'i32', [windows, kh * kw]);
  const entries = gatherFrom(to, padded, to.reshape(index, [1, windows, kh * kw]), 2);
  const values = to.reduce('maximum', entries, Number.NEGATIVE_INFINITY, [3]);
  const wide = to.broadcastIn(values, [0, 1, 2], entries.shape);
  const allPlaces = to.broadcastIn(index, [2, 3], entries.shape);
  const inside = to.compare('LT', allPlaces, to.constant(h * w, 'i32', entries.shape));
  const largest = to.binary(
    'or',
    to.compare('EQ', entries, wide),
    to.compare('NE', entries, entries),
  );
  const none = to.constant(2 ** 31 - 1, 'i32', entries.shape);
  const hits = to.select(to.binary('and', largest, inside), allPlaces, none);
  const first = to.reduce('minimum', hits, 2 ** 31 - 1, [3]);
  const { shape } = outputs[0]!;
  return [to.reshape(values, shape), to.reshape(first, shape)];
};

/** The start of each window in planes of that width, including padding: int32 [n, c, rows, columns]. */
function startsOf(call: OpCall, shape: Value['shape'], width: number): Value {
  const [stride, padding] = [sizesAttr(call, 'stride'), sizesAttr(call, 'padding')];
  const [rows, columns] = [shape[2]!, shape[3]!];
  const starts = Int32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return (row * stride[0]! - padding[0]!) * width + column * stride[1]! - padding[1]!;
  });
  const { to } = call;
  return to.broadcastIn(to.literal(starts, 'i32', [rows, columns]), [2, 3], shape);
}

const maxPool2dCoded: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [values, places] = maxPool2d(call) as [Value, Value];
  const starts = startsOf(call, outputs[1]!.shape, inputs[0]!.shape[3]!);
  return [values, to.convert(to.binary('subtract', places, starts), 'ui8')];
};

const maxPool2dCodedGrad: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const [dy, codes, ...others] = inputs as [Value, Value, ...Value[]];
  const starts = startsOf(call, dy.shape, outputs[0]!.shape[3]!);
  const places = to.binary('add', to.convert(codes, 'i32'), starts);
  return maxPool2dGrad({ ...call, inputs: [dy, places, ...others] });
};

const maxPool2dGrad: OpMapping = ({ to, inputs, outputs }) => {
  const [dy, indices] = inputs as [Value, Value];
  const [n, c, h, w] = outputs[0]!.shape as [number, number, number, number];
  const windows = dy.shape[2]! * dy.shape[3]!;
  const shape = [n * c, windows];
  const planes = to.iota('i32', [1, ...shape], 1);
  const places = to.concatenate([planes, to.reshape(indices, [1, ...shape])], 0);
  const zeros = to.constant(0, dy.element, [n * c, h * w]);
  const sum = scatterInto(to, zeros, places, to.reshape(dy, shape), 0, 'add');
  return to.reshape(sum, outputs[0]!.shape);
};

export const poolingOps: Readonly<Record<string, OpMapping>> = {
  maxPool2d,
  maxPool2dCoded,
  maxPool2dGrad,
  maxPool2dCodedGrad,
};
