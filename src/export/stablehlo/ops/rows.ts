import { type GroupArithmetic, opsByStats } from '../../lowering/standardize.ts';
import { wideElement } from '../../lowering/target.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpCall, OpMapping } from '../emit/op-mapping.ts';
import { rowwise } from './reductions.ts';

/** Computes in float32 if the operand is a half. */
function widely(body: (to: Emitter, ...inputs: Value[]) => Value): OpMapping {
  return ({ to, inputs }) => {
    const wide = inputs.map((each) => to.convert(each, wideElement(each.element)));
    return to.convert(body(to, ...wide), inputs[0]!.element);
  };
}

function shifted(to: Emitter, x: Value): Value {
  return to.binary('subtract', x, rowwise(to, 'maximum', x));
}

const softmax = (to: Emitter, x: Value) => {
  const powers = to.unary('exponential', shifted(to, x));
  return to.binary('divide', powers, rowwise(to, 'add', powers));
};

const logSoftmax = (to: Emitter, x: Value) => {
  const own = shifted(to, x);
  const sum = rowwise(to, 'add', to.unary('exponential', own));
  return to.binary('subtract', own, to.unary('log', sum));
};

const softmaxGrad = (to: Emitter, dy: Value, out: Value) => {
  const sum = rowwise(to, 'add', to.binary('multiply', dy, out));
  return to.binary('multiply', out, to.binary('subtract', dy, sum));
};

const logSoftmaxGrad = (to: Emitter, dy: Value, out: Value) => {
  const sum = rowwise(to, 'add', dy);
  return to.binary('subtract', dy, to.binary('multiply', to.unary('exponential', out), sum));
};

const ignoredLabel = -100;

interface Labels {
  /** [n, classes]: the class of the row. */
  readonly chosen: Value;
  /** [n, classes]: whether the row has a label. */
  readonly counts: Value;
  /** [] */
  readonly count: Value;
}

function labelsOf(to: Emitter, target: Value, element: Value['element'], classes: number): Labels {
  const shape = [target.shape[0]!, classes];
  const labels = to.broadcastIn(target, [0], shape);
  const valid = to.compare('NE', target, to.constant(ignoredLabel, 'i32', target.shape));
  return {
    chosen: to.compare('EQ', labels, to.iota('i32', shape, 1)),
    counts: to.broadcastIn(valid, [0], shape),
    count: to.reduce('add', to.convert(valid, element), 0, [0]),
  };
}

function shareOf(to: Emitter, dy: Value, count: Value): Value {
  return to.unary('negate', to.binary('divide', dy, count));
}

const nllLoss: OpMapping = ({ to, inputs }) => {
  const [logProbs, target] = inputs as [Value, Value];
  const wide = to.convert(logProbs, wideElement(logProbs.element));
  const { chosen, count } = labelsOf(to, target, wide.element, wide.shape[1]!);
  const own = to.select(chosen, wide, to.constant(0, wide.element, wide.shape));
  const loss = to.unary('negate', to.binary('divide', to.reduce('add', own, 0, [0, 1]), count));
  return to.convert(loss, logProbs.element);
};

const nllLossGrad: OpMapping = ({ to, inputs, outputs }) => {
  const [dy, target] = inputs as [Value, Value];
  const { shape } = outputs[0]!;
  const { chosen, count } = labelsOf(to, target, dy.element, shape[1]!);
  const share = to.broadcast(shareOf(to, dy, count), shape);
  return to.select(chosen, share, to.constant(0, dy.element, shape));
};

const nllLossShare: OpMapping = ({ to, inputs }) => {
  const [dy, target] = inputs as [Value, Value];
  return shareOf(to, dy, labelsOf(to, target, dy.element, 1).count);
};

const crossEntropyGrad: OpMapping = ({ to, inputs }) => {
  const [share, target, out] = inputs as [Value, Value, Value];
  const { chosen, counts } = labelsOf(to, target, out.element, out.shape[1]!);
  const zero = to.constant(0, out.element, out.shape);
  const own = to.broadcast(share, out.shape);
  const part = to.binary('multiply', to.unary('exponential', out), own);
  const labelled = to.select(chosen, own, zero);
  return to.binary('subtract', labelled, to.select(counts, part, zero));
};

/** How a tensor is divided into groups; see `runtime/ops/normalization/grouping.ts`. */
interface Groups {
  readonly view: readonly number[];
  readonly over: readonly number[];
  readonly kept: readonly number[];
  readonly count: number;
  readonly weightShape: readonly number[];
}

function groupsOf({ attrs }: OpCall): Groups {
  const view = attrs.view as readonly number[];
  const over = attrs.over as readonly number[];
  const kept = view.flatMap((_, d) => (over.includes(d) ? [] : [d]));
  const count = over.reduce((product, d) => product * view[d]!, 1);
  return { view, over, kept, count, weightShape: attrs.weightShape as readonly number[] };
}

function meanOf(to: Emitter, x: Value, { view, over, kept, count }: Groups): Value {
  const sum = to.reduce('add', x, 0, over);
  const mean = to.binary('divide', sum, to.constant(count, x.element, sum.shape));
  return to.broadcastIn(mean, kept, view);
}

/** One number of each group, [groups], broadcast to the view. */
function perGroup(to: Emitter, numbers: Value, { view, kept }: Groups): Value {
  const plain = to.reshape(
    numbers,
    kept.map((d) => view[d]!),
  );
  return to.broadcastIn(plain, kept, view);
}

const weightsIn = (to: Emitter, weight: Value, { view, weightShape }: Groups) =>
  to.broadcast(to.reshape(weight, weightShape), view);

const standardize: OpMapping = (call) => {
  const { to, inputs, outputs, attrs } = call;
  const groups = groupsOf(call);
  const [given, weight, bias] = inputs as [Value, Value?, Value?];
  const x = to.reshape(to.convert(given, wideElement(given.element)), groups.view);
  const center = attrs.centered ? meanOf(to, x, groups) : to.constant(0, x.element, groups.view);
  const distance = to.binary('subtract', x, center);
  const variance = meanOf(to, to.binary('multiply', distance, distance), groups);
  const eps = to.constant(attrs.eps as number, x.element, groups.view);
  const one = to.constant(1, x.element, groups.view);
  const scale = to.binary('divide', one, to.unary('sqrt', to.binary('add', variance, eps)));
  let out = to.binary('multiply', distance, scale);
  if (weight)
    out = to.binary('multiply', out, weightsIn(to, to.convert(weight, x.element), groups));
  if (bias) out = to.binary('add', out, weightsIn(to, to.convert(bias, x.element), groups));
  const statistics = [center, scale].map((each) => {
    const starts = groups.view.map(() => 0);
    const limits = groups.view.map((size, d) =>
      groups.over.includes(d) ? Math.min(1, size) : size,
    );
    return to.reshape(to.slice(each, starts, limits), [outputs[1]!.shape[0]!, 1]);
  });
  return [to.convert(to.reshape(out, given.shape), given.element), to.concatenate(statistics, 1)];
};

const arithmeticOf = (call: OpCall): GroupArithmetic<Value> => {
  const { to } = call;
  const groups = groupsOf(call);
  const column = (stats: Value, i: number) => {
    const count = stats.shape[0]!;
    return perGroup(to, to.reshape(to.slice(stats, [0, i], [count, i + 1]), [count]), groups);
  };
  return {
    ...groups,
    mean: (x) => meanOf(to, x, groups),
    statistics: (stats) => [column(stats, 0), column(stats, 1)],
    weights: (weight, element) => weightsIn(to, to.convert(weight, element), groups),
    sum: (x, dims) => to.reduce('add', x, 0, dims),
  };
};

export const rowOps: Readonly<Record<string, OpMapping>> = {
  softmax: widely(softmax),
  logSoftmax: widely(logSoftmax),
  softmaxGrad: widely(softmaxGrad),
  logSoftmaxGrad: widely(logSoftmaxGrad),
  nllLoss,
  nllLossGrad,
  nllLossShare,
  crossEntropyGrad,
  standardize,
  standardizeAffine: standardize,
  ...opsByStats(arithmeticOf),
};
