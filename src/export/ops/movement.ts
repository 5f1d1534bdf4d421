/** Views, copies and tensors created from no operand. */

import { isSymbolic } from '../../../runtime/ops/numbers/symbolic-number.ts';
import {
  dimAttr,
  fixedAttr,
  fixedAttrs,
  fixedList,
  fixedShape,
  numberAttr,
} from '../target/attributes.ts';
import { addDims, sizeOfDims, subtractDims } from '../target/dims.ts';
import type { CommonMapping, CommonMappings, TargetCall } from '../target/op-mapping.ts';
import { elementOf, type TargetValue, wideElement } from '../target/target.ts';
import { viewPlaces, viewPositions } from './view-positions.ts';

const same: CommonMapping = ({ inputs }) => inputs[0]!;
const toShape: CommonMapping = ({ to, inputs, outputs }) =>
  to.reshape(inputs[0]!, outputs[0]!.shape);
const expanded: CommonMapping = ({ to, inputs, outputs }) =>
  to.expand(inputs[0]!, outputs[0]!.shape);

/** Any other view: gathers its elements from a row-major operand. */
const strided: CommonMapping = (call) => {
  const { to, inputs, outputs } = call;
  fixedAttrs(call);
  fixedShape(call, [...inputs[0]!.shape, ...outputs[0]!.shape], 'size');
  const { places, shape } = viewPlaces(call)!;
  const x = inputs[0]!;
  return to.reshape(to.entriesAt(to.reshape(x, [sizeOfDims(x.shape)]), 0, places), shape);
};

const narrow: CommonMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const x = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const size = outputs[0]!.shape[dim]!;
  if (isSymbolic(attrs.start as number)) {
    return to.sliceFrom(x, dim, numberAttr(call, 'start', 'i64'), size);
  }
  const start = dimAttr(call, 'start');
  return to.slice(x, dim, start, addDims(start, size), size);
};

const narrowGrad: CommonMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dy = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const start = dimAttr(call, 'start');
  const { shape } = outputs[0]!;
  const low = dy.shape.map((_, d) => (d === dim ? start : 0));
  const high = dy.shape.map((size, d) => subtractDims(subtractDims(shape[d]!, size), low[d]!));
  return to.padZeros(dy, low, high);
};

/** A tensor that is the operand inside a region and `value` elsewhere. */
const place: CommonMapping = (call) => {
  const { to, outputs } = call;
  const x = call.inputs[0]!;
  const background = to.expand(numberAttr(call, 'value', x.element), outputs[0]!.shape);
  return to.withElementsAt(background, regionPlaces(call, x), x);
};

const placeInto: CommonMapping = (call) => {
  const [x, source] = call.inputs;
  return call.to.withElementsAt(x!, regionPlaces(call, source!), source!);
};

function regionPlaces<V extends TargetValue>(call: TargetCall<V>, region: V): Int32Array {
  const shape = fixedShape(call, region.shape, 'size');
  return viewPositions(shape, fixedList(call, 'strides'), fixedAttr(call, 'offset'));
}

/** Sums over the dimensions that broadcasting has added or expanded. */
const sumTo: CommonMapping = ({ to, inputs, outputs }) => {
  const x = inputs[0]!;
  const { shape } = outputs[0]!;
  const lead = x.shape.length - shape.length;
  const dims = x.shape.flatMap((size, d) => {
    return d < lead || (shape[d - lead] === 1 && size !== 1) ? [d] : [];
  });
  const sum = to.reduce('sum', to.convert(x, wideElement(x.element)), dims);
  return to.reshape(to.convert(sum, x.element), shape);
};

const unreduce: CommonMapping = (call) => {
  const { to, inputs, outputs } = call;
  const dims = fixedList(call, 'dims');
  const { shape } = outputs[0]!;
  const kept = shape.map((size, d) => (dims.includes(d) ? 1 : size));
  return to.expand(to.reshape(inputs[0]!, kept), shape);
};

/** Rolls the entries along one dimension; entries that leave at the end reappear at the start. */
const roll: CommonMapping = (call) => {
  const { to } = call;
  const x = call.inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const amount = fixedAttr(call, 'shift');
  const [size] = fixedShape(call, [x.shape[dim]!], 'size') as [number];
  const shift = size === 0 ? 0 : ((amount % size) + size) % size;
  if (shift === 0) return x;
  const last = to.slice(x, dim, size - shift, size, shift);
  const first = to.slice(x, dim, 0, size - shift, size - shift);
  return to.concatenate([last, first], dim, size);
};

const full: CommonMapping = (call) => {
  const { to, outputs } = call;
  const { dtype, shape } = outputs[0]!;
  const element = elementOf[dtype];
  const value =
    element === 'i1'
      ? to.compare('NE', numberAttr(call, 'value', 'f64'), to.constant(0, 'f64'))
      : numberAttr(call, 'value', element);
  return to.expand(value, shape);
};

const arange: CommonMapping = (call) => {
  const { to, outputs } = call;
  const { shape, dtype } = outputs[0]!;
  const wide = (name: string) => to.spread(numberAttr(call, name, 'f64'), shape);
  const scaled = to.binary('multiply', to.iota(shape[0]!, 'f64'), wide('step'));
  return to.convert(to.binary('add', wide('start'), scaled), elementOf[dtype]);
};

const literal: CommonMapping = (call) => {
  const { shape, dtype } = call.outputs[0]!;
  const sizes = fixedShape(call, shape, 'shape');
  return call.to.literal(fixedList(call, 'values'), elementOf[dtype], sizes);
};

export const movementOps: CommonMappings = {
  alias: same,
  contiguous: same,
  expand: expanded,
  expandLike: expanded,
  reshape: toShape,
  reshapeLike: toShape,
  permute: (call) => call.to.transpose(call.inputs[0]!, fixedList(call, 'dims')),
  narrow,
  slice: strided,
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
  full,
  literal,
  arange,
  copy_: ({ to, inputs, outputs }) =>
    to.expand(to.convert(inputs[1]!, inputs[0]!.element), outputs[0]!.shape),
};
