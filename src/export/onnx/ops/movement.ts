import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import { isSymbolic } from '../../../../runtime/ops/numbers/symbolic-number.ts';
import { elementOf } from '../../lowering/target.ts';
import { viewPositions } from '../../lowering/view-positions.ts';
import { addDims, fixedDims, multiplyDims, subtractDims } from '../emit/dims.ts';
import type { Value } from '../emit/emitter.ts';
import {
  dimAttr,
  fixedAttr,
  fixedList,
  fixedShape,
  numberAttr,
  type OpCall,
  type OpMapping,
} from '../emit/op-mapping.ts';
import { gatherFlat, writtenFlat } from './gathering.ts';

const same: OpMapping = ({ inputs }) => inputs[0]!;
const toShape: OpMapping = ({ to, inputs, outputs }) => to.reshape(inputs[0]!, outputs[0]!.shape);
const expanded: OpMapping = ({ to, inputs, outputs }) => to.expand(inputs[0]!, outputs[0]!.shape);

/** Positions of a view's elements in its row-major operand; its sizes have to be numbers. */
export function viewPlaces(call: OpCall): { places: Int32Array; shape: readonly number[] } | null {
  const { op, metas, attrs, inputs, outputs } = call;
  if (op.kernel.kind !== 'view' || !fixedDims([...inputs[0]!.shape, ...outputs[0]!.shape]))
    return null;
  if (Object.values(attrs).some((value) => typeof value === 'object' && !isList(value)))
    return null;
  const { shape, strides, offset } = op.kernel.view(metas, attrs as Attrs);
  return { places: viewPositions(shape, strides, offset), shape };
}

const isList = (value: object): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'number');

/** Any other view: gathers its elements from a row-major operand. */
const strided: OpMapping = (call) => {
  const view = viewPlaces(call);
  if (!view) {
    fixedShape(call, [...call.inputs[0]!.shape, ...call.outputs[0]!.shape], 'size');
    for (const name of Object.keys(call.attrs)) fixedAttr(call, name);
  }
  return gatherFlat(call.to, call.inputs[0]!, view!.places, view!.shape);
};

const narrow: OpMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const x = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const size = outputs[0]!.shape[dim]!;
  if (!isSymbolic(attrs.start)) {
    const start = dimAttr(call, 'start');
    return to.slice(x, dim, start, addDims(start, size), size);
  }
  const start = to.reshape(numberAttr(call, 'start', 'i64'), [1]);
  return to.slice(x, dim, start, to.binary('add', start, to.dim(size)), size);
};

const slice: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dim = fixedAttr(call, 'dim');
  const step = fixedAttr(call, 'step');
  const start = dimAttr(call, 'start');
  const size = outputs[0]!.shape[dim]!;
  const end = addDims(start, multiplyDims(size, step));
  return to.slice(inputs[0]!, dim, start, end, size, step);
};

const narrowGrad: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dy = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const start = dimAttr(call, 'start');
  const { shape } = outputs[0]!;
  const low = dy.shape.map((_, d) => (d === dim ? start : 0));
  const high = dy.shape.map((size, d) =>
    d === dim ? subtractDims(subtractDims(shape[d]!, size), start) : 0,
  );
  const element = dy.element === 'i1' || dy.element === 'ui8' ? 'i32' : dy.element;
  const inputsOfPad = [to.convert(dy, element), to.dims([...low, ...high])];
  return to.convert(to.op('Pad', inputsOfPad, element, shape), dy.element);
};

/** A tensor that is the operand inside a region and `value` elsewhere. */
const place: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const x = inputs[0]!;
  const background = to.expand(numberAttr(call, 'value', x.element), outputs[0]!.shape);
  return writtenFlat(to, background, x, strideplaces(call, x));
};

const placeInto: OpMapping = (call) => {
  const [x, source] = call.inputs as [Value, Value];
  return writtenFlat(call.to, x, source, strideplaces(call, source));
};

function strideplaces(call: OpCall, region: Value): Int32Array {
  const shape = fixedShape(call, region.shape, 'size');
  return viewPositions(shape, fixedList(call, 'strides'), fixedAttr(call, 'offset'));
}

/** Sums over the dimensions that broadcasting has added or expanded. */
const sumTo: OpMapping = ({ to, inputs, outputs }) => {
  const x = inputs[0]!;
  const { shape } = outputs[0]!;
  const lead = x.shape.length - shape.length;
  const dims = x.shape.flatMap((size, d) => {
    return d < lead || (shape[d - lead] === 1 && size !== 1) ? [d] : [];
  });
  const wide = to.convert(x, x.element === 'f16' || x.element === 'bf16' ? 'f32' : x.element);
  return to.reshape(to.convert(to.reduce('Sum', wide, dims), x.element), shape);
};

const unreduce: OpMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dims = fixedList(call, 'dims');
  const { shape } = outputs[0]!;
  const kept = shape.map((size, d) => (dims.includes(d) ? 1 : size));
  return to.expand(to.reshape(inputs[0]!, kept), shape);
};

/** Rolls the entries along one dimension; those that leave at the end return at the start. */
const roll: OpMapping = (call) => {
  const { to, inputs } = call;
  const x = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const given = fixedAttr(call, 'shift');
  const [size] = fixedShape(call, [x.shape[dim]!], 'size') as [number];
  const shift = size === 0 ? 0 : ((given % size) + size) % size;
  if (shift === 0) return x;
  const last = to.slice(x, dim, size - shift, size, shift);
  const first = to.slice(x, dim, 0, size - shift, size - shift);
  return to.concatenate([last, first], dim, size);
};

const flip: OpMapping = (call) => {
  const { to } = call;
  const [x] = call.inputs as [Value];
  const dims = fixedList(call, 'dims');
  if (dims.length === 0) return x;
  const [last, beyond, back] = [-1, -(2 ** 63), -1].map((value) => to.ints(dims.map(() => value)));
  return to.op('Slice', [x, last!, beyond!, to.ints(dims), back!], x.element, x.shape);
};

const full: OpMapping = (call) => {
  const { to, outputs } = call;
  const { dtype, shape } = outputs[0]!;
  const element = elementOf[dtype];
  const value =
    element === 'i1'
      ? to.compare('NE', numberAttr(call, 'value', 'f64'), to.constant(0, 'f64'))
      : numberAttr(call, 'value', element);
  return to.expand(value, shape);
};

const arange: OpMapping = (call) => {
  const { to, outputs } = call;
  const { shape, dtype } = outputs[0]!;
  const numbers = to.convert(to.iota(shape[0]!), 'f64');
  const scaled = to.binary('multiply', numbers, numberAttr(call, 'step', 'f64'));
  const values = to.binary('add', numberAttr(call, 'start', 'f64'), scaled);
  return to.convert(values, elementOf[dtype]);
};

const literal: OpMapping = (call) => {
  const { shape, dtype } = call.outputs[0]!;
  const sizes = fixedShape(call, shape, 'shape');
  return call.to.literal(fixedList(call, 'values'), elementOf[dtype], sizes);
};

export const movementOps: Readonly<Record<string, OpMapping>> = {
  alias: same,
  contiguous: same,
  expand: expanded,
  expandLike: expanded,
  reshape: toShape,
  reshapeLike: toShape,
  permute: (call) => call.to.transpose(call.inputs[0]!, fixedList(call, 'dims')),
  narrow,
  slice,
  diagonal: strided,
  unfold: strided,
  asStrided: strided,
  unreduce,
  roll,
  sumTo,
  narrowGrad,
  place,
  placeInto,
  cat: (call) => {
    const dim = fixedAttr(call, 'dim');
    return call.to.concatenate(call.inputs, dim, call.outputs[0]!.shape[dim]!);
  },
  flip,
  full,
  literal,
  arange,
  copy_: ({ to, inputs, outputs }) =>
    to.expand(to.convert(inputs[1]!, inputs[0]!.element), outputs[0]!.shape),
};
