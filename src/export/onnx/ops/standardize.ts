import { wideElement } from '../../lowering/target.ts';
import { type Dims, sizeOfDims } from '../emit/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import {
  fixedList,
  numberAttr,
  type OpCall,
  type OpMapping,
  sizesAttr,
} from '../emit/op-mapping.ts';

/** How a tensor falls into groups; see `runtime/ops/normalization/standardize.ts`. */
interface Groups {
  readonly view: Dims;
  readonly over: readonly number[];
  readonly weightShape: Dims;
}

const groupsOf = (call: OpCall): Groups => ({
  view: sizesAttr(call, 'view'),
  over: fixedList(call, 'over'),
  weightShape: sizesAttr(call, 'weightShape'),
});

/** Over the dimensions of a group, which stay with size 1. */
const meanOf = (to: Emitter, x: Value, { over }: Groups) => to.reduce('Mean', x, over, true);

const keptShape = ({ view, over }: Groups): Dims =>
  view.map((size, d) => (over.includes(d) ? 1 : size));

const weightsIn = (to: Emitter, weight: Value, x: Value, { weightShape }: Groups) =>
  to.reshape(to.convert(weight, x.element), weightShape);

const standardize: OpMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const groups = groupsOf(call);
  const [given, weight, bias] = inputs as [Value, Value?, Value?];
  const x = to.reshape(to.convert(given, wideElement(given.element)), groups.view);
  const center = attrs.centered ? meanOf(to, x, groups) : to.zeros(x.element, keptShape(groups));
  const distance = attrs.centered ? to.binary('subtract', x, center) : x;
  const variance = meanOf(to, to.binary('multiply', distance, distance), groups);
  const padded = to.binary('add', variance, numberAttr(call, 'eps', x.element));
  const scale = to.binary('divide', to.constant(1, x.element), to.unary('sqrt', padded));
  let out = to.binary('multiply', distance, scale);
  if (weight) out = to.binary('multiply', out, weightsIn(to, weight, out, groups));
  if (bias) out = to.binary('add', out, weightsIn(to, bias, out, groups));
  const count = sizeOfDims(keptShape(groups));
  const statistics = [center, scale].map((each) => to.reshape(each, [count, 1]));
  const stats = to.concatenate(statistics, 1, 2);
  return [
    to.convert(to.reshape(out, given.shape), given.element),
    to.reshape(stats, outputs[1]?.shape ?? stats.shape),
  ];
};

/** (x − mean) · scale, and the scale, in the shape of the view. */
function standardized(to: Emitter, x: Value, stats: Value, groups: Groups) {
  const [mean, scale] = [0, 1].map((i) =>
    to.reshape(to.slice(stats, 1, i, i + 1, 1), keptShape(groups)),
  ) as [Value, Value];
  return { out: to.binary('multiply', to.binary('subtract', x, mean), scale), scale };
}

const standardizeGrad: OpMapping = (call) => {
  const { to, inputs, attrs, outputs } = call;
  const groups = groupsOf(call);
  const [dy, given, stats, weight] = inputs as [Value, Value, Value, Value?];
  const inView = (each: Value) => to.reshape(to.convert(each, stats.element), groups.view);
  const { out, scale } = standardized(to, inView(given), stats, groups);
  let own = inView(dy);
  if (weight) own = to.binary('multiply', own, weightsIn(to, weight, own, groups));
  const along = to.binary('multiply', out, meanOf(to, to.binary('multiply', own, out), groups));
  const rest = attrs.centered ? to.binary('subtract', own, meanOf(to, own, groups)) : own;
  const dx = to.binary('multiply', scale, to.binary('subtract', rest, along));
  return to.convert(to.reshape(dx, outputs[0]!.shape), given.element);
};

function weightGrad(call: OpCall, dy: Value, given: Value, stats: Value): Value {
  const { to, outputs } = call;
  const groups = groupsOf(call);
  const { view, weightShape } = groups;
  const inView = (each: Value) => to.reshape(to.convert(each, stats.element), view);
  const { out } = standardized(to, inView(given), stats, groups);
  const lead = view.length - weightShape.length;
  const dims = view.flatMap((_, d) => ((weightShape[d - lead] ?? 1) === 1 ? [d] : []));
  const sum = to.reduce('Sum', to.binary('multiply', inView(dy), out), dims);
  return to.reshape(sum, outputs[0]!.shape);
}

export const standardizeOps: Readonly<Record<string, OpMapping>> = {
  standardize,
  standardizeAffine: standardize,
  standardizeGrad,
  standardizeAffineGrad: standardizeGrad,
  standardizeWeightGrad: (call) => {
    const [dy, x, stats, weight] = call.inputs as [Value, Value, Value, Value];
    return call.to.convert(weightGrad(call, dy, x, stats), weight.element);
  },
  addStandardizeWeightGrad_: (call) => {
    const [dw, dy, x, stats] = call.inputs as [Value, Value, Value, Value];
    return call.to.binary('add', dw, weightGrad(call, dy, x, stats));
  },
};
