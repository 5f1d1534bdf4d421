import { sizeOf } from '../../../../runtime/spec/shape.ts';
import { elementOf } from '../../lowering/target.ts';
import { viewPositions } from '../../lowering/view-positions.ts';
import type { Value } from '../emit/emitter.ts';
import {
  fixedAttr,
  numberAttr,
  type OpCall,
  type OpMapping,
  sizesAttr,
} from '../emit/op-mapping.ts';
import { gatherFlat, scatterInto } from './gathering.ts';

const toShape: OpMapping = ({ to, inputs, outputs }) => to.reshape(inputs[0]!, outputs[0]!.shape);
const expanded: OpMapping = ({ to, inputs, outputs }) =>
  to.broadcast(inputs[0]!, outputs[0]!.shape);

/** Any other view: gathers its elements from a row-major operand. */
const strided: OpMapping = (call) => {
  const { to, inputs, metas, attrs, op } = call;
  if (op.kernel.kind !== 'view') return inputs[0]!;
  for (const name of Object.keys(attrs)) if (op.numbers?.includes(name)) fixedAttr(call, name);
  const { shape, strides, offset } = op.kernel.view(metas, attrs);
  return gatherFlat(to, inputs[0]!, viewPositions(shape, strides, offset), shape);
};

function narrow(call: OpCall): Value {
  const { to, inputs, outputs, attrs } = call;
  const x = inputs[0]!;
  const dim = attrs.dim as number;
  const size = outputs[0]!.shape[dim]!;
  if (typeof attrs.start !== 'number') {
    const start = numberAttr(call, 'start', 'i32');
    const zero = to.constant(0, 'i32');
    const starts = x.shape.map((_, d) => (d === dim ? start : zero));
    const sizes = outputs[0]!.shape.join(', ');
    const attributes = `slice_sizes = array<i64${sizes ? `: ${sizes}` : ''}>`;
    return to.generic('dynamic_slice', [x, ...starts], attributes, x.element, outputs[0]!.shape);
  }
  const from = attrs.start;
  const starts = x.shape.map((_, d) => (d === dim ? from : 0));
  const limits = x.shape.map((own, d) => (d === dim ? from + size : own));
  return to.slice(x, starts, limits);
}

function narrowGrad(call: OpCall): Value {
  const { to, inputs, outputs } = call;
  const dy = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const start = fixedAttr(call, 'start');
  const { shape } = outputs[0]!;
  const low = dy.shape.map((_, d) => (d === dim ? start : 0));
  const high = dy.shape.map((size, d) => shape[d]! - size - low[d]!);
  return to.pad(dy, to.constant(0, dy.element), low, high);
}

/** A tensor that is the operand inside a region and `value` elsewhere. */
function place(call: OpCall): Value {
  const { to, inputs, outputs } = call;
  const x = inputs[0]!;
  const { shape } = outputs[0]!;
  const offset = fixedAttr(call, 'offset');
  const background = to.broadcast(numberAttr(call, 'value', x.element), shape);
  const places = viewPositions(x.shape, sizesAttr(call, 'strides'), offset);
  return writtenFlat(call, background, x, places);
}

function placeInto(call: OpCall): Value {
  const [x, source] = call.inputs as [Value, Value];
  const offset = fixedAttr(call, 'offset');
  return writtenFlat(
    call,
    x,
    source,
    viewPositions(source.shape, sizesAttr(call, 'strides'), offset),
  );
}

/** `target` with these elements replaced. */
export function writtenFlat(
  { to }: Pick<OpCall, 'to'>,
  target: Value,
  source: Value,
  places: Int32Array,
): Value {
  const flat = to.reshape(target, [sizeOf(target.shape)]);
  const index = to.reshape(to.literal(places, 'i32', [places.length]), [1, places.length]);
  const values = to.reshape(source, [places.length]);
  return to.reshape(scatterInto(to, flat, index, values, 0, 'replace'), target.shape);
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
  return to.reshape(to.convert(to.reduce('add', wide, 0, dims), x.element), shape);
};

const unreduce: OpMapping = ({ to, inputs, outputs, attrs }) => {
  const x = inputs[0]!;
  const dims = attrs.dims as readonly number[];
  const { shape } = outputs[0]!;
  const kept = shape.flatMap((_, d) => (dims.includes(d) ? [] : [d]));
  const plain = to.reshape(
    x,
    kept.map((d) => shape[d]!),
  );
  return to.broadcastIn(plain, kept, shape);
};

/** Rolls the entries along one dimension; those that leave at the end return at the start. */
function roll(call: OpCall): Value {
  const { to, inputs } = call;
  const x = inputs[0]!;
  const dim = fixedAttr(call, 'dim');
  const size = x.shape[dim]!;
  const shift = size === 0 ? 0 : ((fixedAttr(call, 'shift') % size) + size) % size;
  if (shift === 0) return x;
  const part = (from: number, until: number) =>
    to.slice(
      x,
      x.shape.map((_, d) => (d === dim ? from : 0)),
      x.shape.map((own, d) => (d === dim ? until : own)),
    );
  return to.concatenate([part(size - shift, size), part(0, size - shift)], dim);
}

export const movementOps: Readonly<Record<string, OpMapping>> = {
  alias: ({ inputs }) => inputs[0]!,
  contiguous: ({ inputs }) => inputs[0]!,
  expand: expanded,
  expandLike: expanded,
  reshape: toShape,
  reshapeLike: toShape,
  permute: (call) => call.to.transpose(call.inputs[0]!, sizesAttr(call, 'dims')),
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
  cat: ({ to, inputs, attrs }) => to.concatenate(inputs, attrs.dim as number),
  flip: ({ to, inputs, attrs }) => to.reverse(inputs[0]!, attrs.dims as readonly number[]),
  full: (call) => call.to.broadcast(fillValue(call), call.outputs[0]!.shape),
  literal: ({ to, outputs, attrs }) => {
    const { shape, dtype } = outputs[0]!;
    return to.literal(attrs.values as readonly number[], elementOf[dtype], shape);
  },
  arange: (call) => {
    const { to, outputs } = call;
    const { shape, dtype } = outputs[0]!;
    const numbers = to.iota('f64', shape, 0);
    const step = to.broadcast(numberAttr(call, 'step', 'f64'), shape);
    const start = to.broadcast(numberAttr(call, 'start', 'f64'), shape);
    const values = to.binary('add', start, to.binary('multiply', numbers, step));
    return to.convert(values, elementOf[dtype]);
  },
  copy_: ({ to, inputs, outputs }) =>
    to.broadcast(to.convert(inputs[1]!, inputs[0]!.element), outputs[0]!.shape),
};

function fillValue(call: OpCall): Value {
  const { to, outputs } = call;
  const element = elementOf[outputs[0]!.dtype];
  if (element !== 'i1') return numberAttr(call, 'value', element);
  return to.compare('NE', numberAttr(call, 'value', 'f64'), to.constant(0, 'f64'));
}
