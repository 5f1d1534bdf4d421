import { type GroupArithmetic, opsByStats } from '../../lowering/standardize.ts';
import { type Element, wideElement } from '../../lowering/target.ts';
import { type Dims, sizeOfDims } from '../emit/dims.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import {
  fixedList,
  numberAttr,
  type OpCall,
  type OpMapping,
  sizesAttr,
} from '../emit/op-mapping.ts';

/** How a tensor is divided into groups; see `runtime/ops/normalization/grouping.ts`. */
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

const weightsIn = (to: Emitter, weight: Value, element: Element, { weightShape }: Groups) =>
  to.reshape(to.convert(weight, element), weightShape);

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
  if (weight) out = to.binary('multiply', out, weightsIn(to, weight, out.element, groups));
  if (bias) out = to.binary('add', out, weightsIn(to, bias, out.element, groups));
  const count = sizeOfDims(keptShape(groups));
  const statistics = [center, scale].map((each) => to.reshape(each, [count, 1]));
  const stats = to.concatenate(statistics, 1, 2);
  return [
    to.convert(to.reshape(out, given.shape), given.element),
    to.reshape(stats, outputs[1]?.shape ?? stats.shape),
  ];
};

const arithmeticOf = (call: OpCall): GroupArithmetic<Value> => {
  const { to } = call;
  const groups = groupsOf(call);
  const column = (stats: Value, i: number) =>
    to.reshape(to.slice(stats, 1, i, i + 1, 1), keptShape(groups));
  return {
    ...groups,
    mean: (x) => meanOf(to, x, groups),
    statistics: (stats) => [column(stats, 0), column(stats, 1)],
    weights: (weight, element) => weightsIn(to, weight, element, groups),
    sum: (x, dims) => to.reduce('Sum', x, dims),
  };
};

export const standardizeOps: Readonly<Record<string, OpMapping>> = {
  standardize,
  standardizeAffine: standardize,
  ...opsByStats(arithmeticOf),
};
