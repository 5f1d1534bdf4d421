import { poolingOps } from '../../ops/pooling.ts';
import { fixedList } from '../../target/attributes.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall } from '../emit/op-mapping.ts';

/** The first maximum of each window, and its position in the plane; NaN is the largest. */
function maxPool2d(call: OpCall): [Value, Value] {
  const { to, inputs, outputs } = call;
  const x = inputs[0]!;
  const [n, c, h, w] = x.shape as [number, number, number, number];
  const [kernel, stride, padding, dilation, size] = [
    'kernel',
    'stride',
    'padding',
    'dilation',
    'size',
  ].map((name) => fixedList(call, name)) as (readonly number[])[];
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
    // The plane is followed by an element that no window selects.
    places[i] = y >= 0 && y < h && z >= 0 && z < w ? y * w + z : h * w;
  }
  const plane = to.reshape(x, [n, c, h * w]);
  const outside = to.constant(Number.NEGATIVE_INFINITY, x.element);
  const padded = to.pad(plane, outside, [0, 0, 0], [0, 0, 1]);
  const index = to.literal(places, 'i32', [windows, kh * kw]);
  const entries = to.gather(padded, to.reshape(index, [1, windows, kh * kw]), 2);
  const values = to.reduce('max', entries, [3]);
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
  const first = to.reduce('min', hits, [3]);
  const { shape } = outputs[0]!;
  return [to.reshape(values, shape), to.reshape(first, shape)];
}

/** The start of each window in planes of that width, including padding: int32 [n, c, rows, columns]. */
function startsOf(call: OpCall, shape: Value['shape'], width: number): Value {
  const [stride, padding] = [fixedList(call, 'stride'), fixedList(call, 'padding')];
  const [rows, columns] = [shape[2]!, shape[3]!];
  const starts = Int32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return (row * stride[0]! - padding[0]!) * width + column * stride[1]! - padding[1]!;
  });
  const { to } = call;
  return to.broadcastIn(to.literal(starts, 'i32', [rows, columns]), [2, 3], shape);
}

function maxPool2dGrad({ to, inputs, outputs }: OpCall): Value {
  const [dy, indices] = inputs as [Value, Value];
  const [n, c, h, w] = outputs[0]!.shape as [number, number, number, number];
  const windows = dy.shape[2]! * dy.shape[3]!;
  const shape = [n * c, windows];
  const planes = to.iotaIn('i32', [1, ...shape], 1);
  const places = to.concatenate([planes, to.reshape(indices, [1, ...shape])], 0);
  const zeros = to.zeros(dy.element, [n * c, h * w]);
  const sum = to.scatter(zeros, places, to.reshape(dy, shape), { dim: 0, how: 'add' });
  return to.reshape(sum, outputs[0]!.shape);
}

export const poolOps = poolingOps<Value, Emitter>({
  forward: maxPool2d,
  backward: maxPool2dGrad,
  starts: startsOf,
});
