import { elementOf, isFloat, wideElement } from '../../lowering/target.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import { fixedAttr, fixedList, type OpMapping } from '../emit/op-mapping.ts';

function reduction(name: 'Sum' | 'Prod' | 'Max' | 'Min'): OpMapping {
  return (call) => {
    const { to, inputs, outputs, attrs } = call;
    const [x] = inputs as [Value];
    const dims = attrs.dims === undefined ? [fixedAttr(call, 'dim')] : fixedList(call, 'dims');
    const reduced = to.reduce(name, to.convert(x, wideElement(x.element)), dims);
    const { shape, dtype } = outputs[0]!;
    return to.reshape(to.convert(reduced, elementOf[dtype]), shape);
  };
}

/** The index of the first largest or smallest entry. */
function place(opType: 'ArgMax' | 'ArgMin'): OpMapping {
  return (call) => {
    const { to, inputs, outputs } = call;
    const [x] = inputs as [Value];
    const axis = fixedAttr(call, 'dim');
    const own = to.convert(x, wideElement(x.element));
    if (x.shape.length === 0) return to.constant(0, 'i32');
    const shape = x.shape.filter((_, d) => d !== axis);
    const found = placeOf(to, opType, own, axis, shape);
    return to.reshape(to.convert(found, 'i32'), outputs[0]!.shape);
  };
}

/** NaN is both the largest and the smallest: if there is one, its first index. */
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
  const any = to.compare('GT', to.reduce('Max', missing, [axis]), to.constant(0, 'f32'));
  return to.select(any, first, plain);
}

/** Sums of the entries up to each one, or from it on. */
const cumsum: OpMapping = (call) => {
  const { to, inputs, attrs } = call;
  const [given] = inputs as [Value];
  if (given.shape.length === 0) return given;
  const x = to.convert(given, wideElement(given.element));
  const axis = to.reshape(to.ints([fixedAttr(call, 'dim')]), []);
  const sums = to.op('CumSum', [x, axis], x.element, x.shape, { reverse: attrs.reverse ? 1 : 0 });
  return to.convert(sums, given.element);
};

export const reductionOps: Readonly<Record<string, OpMapping>> = {
  sum: reduction('Sum'),
  prod: reduction('Prod'),
  max: reduction('Max'),
  min: reduction('Min'),
  argmax: place('ArgMax'),
  argmin: place('ArgMin'),
  cumsum,
  addSum_: (call) => {
    const { to, inputs } = call;
    const [out, x] = inputs as [Value, Value];
    const added = reduction('Sum')({ ...call, inputs: [x] }) as Value;
    return to.binary('add', out, added);
  },
};
