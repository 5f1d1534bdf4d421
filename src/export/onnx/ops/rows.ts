import { wideElement } from '../../lowering/target.ts';
import type { Emitter, Value } from '../emit/emitter.ts';
import type { OpMapping } from '../emit/op-mapping.ts';

/** Computes in float32 if the operand is a half. */
function widely(body: (to: Emitter, ...inputs: Value[]) => Value): OpMapping {
  return ({ to, inputs }) => {
    const wide = inputs.map((each) => to.convert(each, wideElement(each.element)));
    return to.convert(body(to, ...wide), inputs[0]!.element);
  };
}

const lastDim = (x: Value): readonly number[] => [x.shape.length - 1];

const rowwise = (opType: 'Softmax' | 'LogSoftmax') =>
  widely((to, x) => to.op(opType, [x], x.element, x.shape, { axis: -1 }));

const softmaxGrad = (to: Emitter, dy: Value, out: Value) => {
  const sum = to.reduce('Sum', to.binary('multiply', dy, out), lastDim(out), true);
  return to.binary('multiply', out, to.binary('subtract', dy, sum));
};

const logSoftmaxGrad = (to: Emitter, dy: Value, out: Value) => {
  const sum = to.reduce('Sum', dy, lastDim(dy), true);
  const share = to.binary('multiply', to.unary('exponential', out), sum);
  return to.binary('subtract', dy, share);
};

const ignoredLabel = -100;

interface Labels {
  /** [n, classes]: the class of the row. */
  readonly chosen: Value;
  /** [n, 1]: whether the row has a label. */
  readonly counts: Value;
  /** [] */
  readonly count: Value;
}

function countOf(to: Emitter, target: Value, element: Value['element']): Value {
  const valid = to.compare('NE', target, to.constant(ignoredLabel, 'i32'));
  return to.reduce('Sum', to.convert(valid, element), [0]);
}

function labelsOf(
  to: Emitter,
  target: Value,
  element: Value['element'],
  classes: Value['shape'][number],
): Labels {
  const labels = to.reshape(target, [target.shape[0]!, 1]);
  const numbers = to.convert(to.iota(classes), 'i32');
  return {
    chosen: to.compare('EQ', labels, numbers),
    counts: to.compare('NE', labels, to.constant(ignoredLabel, 'i32')),
    count: countOf(to, target, element),
  };
}

const shareOf = (to: Emitter, dy: Value, count: Value) =>
  to.unary('negate', to.binary('divide', dy, count));

const nllLoss: OpMapping = ({ to, inputs }) => {
  const [logProbs, target] = inputs as [Value, Value];
  const wide = to.convert(logProbs, wideElement(logProbs.element));
  const { chosen, count } = labelsOf(to, target, wide.element, wide.shape[1]!);
  const own = to.select(chosen, wide, to.constant(0, wide.element));
  const loss = to.unary('negate', to.binary('divide', to.reduce('Sum', own, [0, 1]), count));
  return to.convert(loss, logProbs.element);
};

const nllLossGrad: OpMapping = ({ to, inputs, outputs }) => {
  const [dy, target] = inputs as [Value, Value];
  const { shape } = outputs[0]!;
  const { chosen, count } = labelsOf(to, target, dy.element, shape[1]!);
  return to.select(chosen, shareOf(to, dy, count), to.constant(0, dy.element));
};

const nllLossShare: OpMapping = ({ to, inputs }) => {
  const [dy, target] = inputs as [Value, Value];
  return shareOf(to, dy, countOf(to, target, dy.element));
};

const crossEntropyGrad: OpMapping = ({ to, inputs }) => {
  const [share, target, out] = inputs as [Value, Value, Value];
  const { chosen, counts } = labelsOf(to, target, out.element, out.shape[1]!);
  const zero = to.constant(0, out.element);
  const part = to.binary('multiply', to.unary('exponential', out), share);
  const labelled = to.select(chosen, share, zero);
  return to.binary('subtract', labelled, to.select(counts, part, zero));
};

export const rowOps: Readonly<Record<string, OpMapping>> = {
  softmax: rowwise('Softmax'),
  logSoftmax: rowwise('LogSoftmax'),
  softmaxGrad: widely(softmaxGrad),
  logSoftmaxGrad: widely(logSoftmaxGrad),
  nllLoss,
  nllLossGrad,
  nllLossShare,
  crossEntropyGrad,
};
