/** Softmax and the losses that read labels, along the last dimension. */

import type { Dims } from '../target/dims.ts';
import type { CommonMapping, CommonMappings, TargetCall } from '../target/op-mapping.ts';
import {
  type Element,
  type TargetValue,
  type TensorTarget,
  wideElement,
} from '../target/target.ts';

/** Computes in float32 if the operand is a half. */
function widely(
  body: <V extends TargetValue>(to: TensorTarget<V>, ...inputs: V[]) => V,
): CommonMapping {
  return ({ to, inputs }) => {
    const wide = inputs.map((each) => to.convert(each, wideElement(each.element)));
    return to.convert(body(to, ...wide), inputs[0]!.element);
  };
}

/** One number of each row, for all of its elements. */
function alongRows<V extends TargetValue>(to: TensorTarget<V>, name: 'sum' | 'max', x: V): V {
  return to.spread(to.reduce(name, x, [x.shape.length - 1], true), x.shape);
}

function shifted<V extends TargetValue>(to: TensorTarget<V>, x: V): V {
  return to.binary('subtract', x, alongRows(to, 'max', x));
}

const softmax = widely((to, x) => {
  const powers = to.unary('exponential', shifted(to, x));
  return to.binary('divide', powers, alongRows(to, 'sum', powers));
});

const logSoftmax = widely((to, x) => {
  const centered = shifted(to, x);
  const sum = alongRows(to, 'sum', to.unary('exponential', centered));
  return to.binary('subtract', centered, to.unary('log', sum));
});

const softmaxGrad = widely((to, dy, out) => {
  const sum = alongRows(to, 'sum', to.binary('multiply', dy!, out!));
  return to.binary('multiply', out!, to.binary('subtract', dy!, sum));
});

const logSoftmaxGrad = widely((to, dy, out) => {
  const sum = alongRows(to, 'sum', dy!);
  return to.binary('subtract', dy!, to.binary('multiply', to.unary('exponential', out!), sum));
});

const ignoredLabel = -100;

/** [n]: whether the row has a label. */
function labelled<V extends TargetValue>(to: TensorTarget<V>, target: V): V {
  return to.compare('NE', target, to.constant(ignoredLabel, 'i32', target.shape));
}

function countOf<V extends TargetValue>(to: TensorTarget<V>, target: V, element: Element): V {
  return to.reduce('sum', to.convert(labelled(to, target), element), [0]);
}

/** One value of each row, [n], for each of its classes. */
function inRows<V extends TargetValue>(to: TensorTarget<V>, x: V, shape: Dims): V {
  return to.spread(to.reshape(x, [shape[0]!, 1]), shape);
}

/** [n, classes]: the class of the row. */
function chosenOf<V extends TargetValue>(to: TensorTarget<V>, target: V, shape: Dims): V {
  const classes = to.spread(to.iota(shape[1]!, 'i32'), shape);
  return to.compare('EQ', inRows(to, target, shape), classes);
}

function shareOf<V extends TargetValue>({ to, inputs }: TargetCall<V>): V {
  const [dy, target] = inputs as [V, V];
  return to.unary('negate', to.binary('divide', dy, countOf(to, target, dy.element)));
}

export const rowOps: CommonMappings = {
  softmax,
  logSoftmax,
  softmaxGrad,
  logSoftmaxGrad,
  nllLoss: ({ to, inputs: [logProbs, target] }) => {
    const x = to.convert(logProbs!, wideElement(logProbs!.element));
    const zero = to.constant(0, x.element, x.shape);
    const chosenScores = to.select(chosenOf(to, target!, x.shape), x, zero);
    const mean = to.binary(
      'divide',
      to.reduce('sum', chosenScores, [0, 1]),
      countOf(to, target!, x.element),
    );
    return to.convert(to.unary('negate', mean), logProbs!.element);
  },
  labelScores: ({ to, inputs: [logProbs, target] }) => {
    const { element, shape } = logProbs!;
    const chosenScores = to.select(
      chosenOf(to, target!, shape),
      logProbs!,
      to.constant(0, element, shape),
    );
    return to.reduce('sum', chosenScores, [1]);
  },
  nllLossOfScores: ({ to, inputs: [scores, target] }) => {
    const wide = to.convert(scores!, wideElement(scores!.element));
    const sum = to.reduce('sum', wide, [0]);
    const mean = to.binary('divide', sum, countOf(to, target!, wide.element));
    return to.convert(to.unary('negate', mean), scores!.element);
  },
  nllLossGrad: (call) => {
    const { to, outputs } = call;
    const [dy, target] = call.inputs;
    const { shape } = outputs[0]!;
    const zero = to.constant(0, dy!.element, shape);
    return to.select(chosenOf(to, target!, shape), to.spread(shareOf(call), shape), zero);
  },
  nllLossShare: shareOf,
  crossEntropyGrad: ({ to, inputs: [dy, target, out] }) => {
    const { element, shape } = out!;
    const zero = to.constant(0, element, shape);
    const share = to.spread(dy!, shape);
    const part = to.binary('multiply', to.unary('exponential', out!), share);
    const gradient = to.select(chosenOf(to, target!, shape), share, zero);
    const counts = inRows(to, labelled(to, target!), shape);
    return to.binary('subtract', gradient, to.select(counts, part, zero));
  },
};
