import { fixedAttr } from '../../target/attributes.ts';
import { isFloat, wideElement } from '../../target/target.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

/** The index of the first largest or smallest entry. */
function place(opType: 'ArgMax' | 'ArgMin'): OpMapping {
  return (call) => {
    const { to, inputs, outputs } = call;
    const [x] = inputs as [Value];
    const axis = fixedAttr(call, 'dim');
    const widened = to.convert(x, wideElement(x.element));
    if (x.shape.length === 0) return to.constant(0, 'i32');
    const shape = x.shape.filter((_, d) => d !== axis);
    const found = placeOf(to, opType, widened, axis, shape);
    return to.reshape(to.convert(found, 'i32'), outputs[0]!.shape);
  };
}

/** NaN is both the largest and the smallest: returns the first index of a NaN, if any. */
function placeOf(
  to: Emitter,
  opType: string,
  x: Value,
  axis: number,
  shape: Value['shape'],
): Value {
  const attributes = { axis, keepdims: 0 };
  const plain = to.op(opType, [x], 'i64', shape, attributes);
  if (!isFloat(x.element)) return plain;
  const missing = to.convert(to.compare('NE', x, x), 'f32');
  const first = to.op('ArgMax', [missing], 'i64', shape, attributes);
  const any = to.compare('GT', to.reduce('max', missing, [axis]), to.constant(0, 'f32'));
  return to.select(any, first, plain);
}

/** Sums of the entries up to each one, or from it on. */
const cumsum: OpMapping = (call) => {
  const { to, inputs, attrs } = call;
  const [input] = inputs as [Value];
  if (input.shape.length === 0) return input;
  const x = to.convert(input, wideElement(input.element));
  const axis = to.reshape(to.ints([fixedAttr(call, 'dim')]), []);
  const sums = to.op('CumSum', [x, axis], x.element, x.shape, { reverse: attrs.reverse ? 1 : 0 });
  return to.convert(sums, input.element);
};

/** Softmax along the last dimension; halves are computed in float32. */
function rowwise(opType: 'Softmax' | 'LogSoftmax'): OpMapping {
  return ({ to, inputs }) => {
    const [x] = inputs as [Value];
    const wide = to.convert(x, wideElement(x.element));
    return to.convert(to.op(opType, [wide], wide.element, x.shape, { axis: -1 }), x.element);
  };
}

export const alongDimOps: Readonly<Record<string, OpMapping>> = {
  argmax: place('ArgMax'),
  argmin: place('ArgMin'),
  cumsum,
  softmax: rowwise('Softmax'),
  logSoftmax: rowwise('LogSoftmax'),
};
