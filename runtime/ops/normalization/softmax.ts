import * as lossesKernels from '../../device/cpu/scalar/loss.ts';
import * as softmaxesKernels from '../../device/cpu/softmax.ts';
import { type NamedKernel, named } from '../../device/kernel-op.ts';
import { formatSpec, type TensorMeta } from '../../device/tensor-meta.ts';
import { DTypeError, ShapeError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { dtypes } from '../../spec/dtype.ts';
import { normalizeDim, sameShape } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { exp } from '../arithmetic/functions.ts';
import { bind1 } from '../core/bind.ts';
import { type DTypeOption, withDType } from '../core/cast.ts';
import { transpose } from '../movement/movement.ts';
import { defineOp, type OpRecord, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { alongLastRows, perEntry } from '../record/row-cuts.ts';
import { sum } from '../reduce/reduce.ts';

const inferSame = ([x]: readonly TensorMeta[]) => ({ dtype: x!.dtype, shape: x!.shape });

/** Throws DTypeError unless `x` is a floating-point tensor. */
export function expectFloat(name: string, x: TensorMeta): void {
  if (dtypes[x.dtype].floating) return;
  throw new DTypeError({
    what: `${name}: not a floating-point tensor`,
    given: formatSpec(x),
    expected: 'float32',
    remedy: "cast it: x.to('float32')",
  });
}

type GradientOfOut = (dy: Tensor, out: Tensor, g: Tensor) => Tensor;

/**
 * Defines an op along the last dimension whose gradient reads only its output. `second` computes the gradients of
 * that gradient, contracted with g.
 */
function alongLast(
  kernel: NamedKernel<'softmax' | 'logSoftmax'>,
  gradKernel: NamedKernel<'softmaxGrad' | 'logSoftmaxGrad'>,
  second: { readonly dy: (out: Tensor, g: Tensor) => Tensor; readonly out: GradientOfOut },
): OpRecord {
  const { name } = kernel;
  const gradOp = defineOp({
    name: gradKernel.name,
    operands: { dy: 'data', out: 'data' },
    dtypes: { dy: 'floating' },
    infer: inferSame,
    kernel: gradKernel,
    rows: alongLastRows,
    overwrites: ['dy', 'out'],
    vjp: {
      dy: saving({ out: 'value' }, ({ out }, g) => second.dy(out, g)),
      out: saving({ dy: 'value', out: 'value' }, ({ dy, out }, g) => second.out(dy, out, g)),
    },
  });
  return defineOp({
    name,
    operands: { x: 'data' },
    infer: (inputs) => {
      expectFloat(name, inputs[0]!);
      return inferSame(inputs);
    },
    kernel,
    rows: alongLastRows,
    overwrites: ['x'],
    vjp: { x: saving({ out: 'value' }, ({ out }, dy) => bind1(gradOp, [dy, out])) },
  });
}

const rowSum = (x: Tensor): Tensor => sum(x, -1, { keepDim: true });

// dx = out · (dy − Σ dy·out)
export const softmaxOp = alongLast(
  named('softmax', softmaxesKernels.softmax),
  named('softmaxGrad', softmaxesKernels.softmaxGrad),
  {
    dy: (out, g) => mul(out, sub(g, rowSum(mul(g, out)))),
    out: (dy, out, g) => sub(mul(g, sub(dy, rowSum(mul(dy, out)))), mul(dy, rowSum(mul(g, out)))),
  },
);
// dx = dy − exp(out) · Σ dy
export const logSoftmaxOp = alongLast(
  named('logSoftmax', softmaxesKernels.logSoftmax),
  named('logSoftmaxGrad', softmaxesKernels.logSoftmaxGrad),
  {
    dy: (out, g) => sub(g, rowSum(mul(g, exp(out)))),
    out: (dy, out, g) => neg(mul(mul(g, exp(out)), rowSum(dy))),
  },
);

/** Runs the op along `dim`. Kernels run along the last dimension, so any other is swapped there and back. */
function alongDim(op: OpRecord, x: Tensor, dim: number): Tensor {
  const at = normalizeDim(dim, x.rank, op.name);
  if (at >= x.rank - 1) return bind1(op, [x]);
  return tidy(() => transpose(bind1(op, [transpose(x, at, -1)]), at, -1));
}

/** eˣ divided by its sum along `dim`. */
export const softmax = (x: Tensor, dim = -1, options: DTypeOption = {}): Tensor => {
  expectTensors('softmax', x);
  return withDType('softmax', x, options, (converted) => alongDim(softmaxOp, converted, dim));
};
/** The logarithm of softmax along `dim`. */
export const logSoftmax = (x: Tensor, dim = -1, options: DTypeOption = {}): Tensor => {
  expectTensors('logSoftmax', x);
  return withDType('logSoftmax', x, options, (converted) => alongDim(logSoftmaxOp, converted, dim));
};

/** The softmax of −x: the smallest value gets the largest probability. */
export const softmin = (x: Tensor, dim = -1, options: DTypeOption = {}): Tensor => {
  expectTensors('softmin', x);
  return naming('softmin', () => tidy(() => softmax(neg(x), dim, options)));
};

export const nllLossGradOp = defineOp({
  name: 'nllLossGrad',
  operands: { dy: 'data', target: 'data', logProbs: 'shape' },
  dtypes: { dy: 'floating', target: 'int32', logProbs: 'ignored' },
  infer: ([dy, , logProbs]) => ({ dtype: dy!.dtype, shape: logProbs!.shape }),
  kernel: named('nllLossGrad', lossesKernels.nllLossGrad),
  // Linear in dy, with the weights of the loss.
  vjp: { dy: saving({ target: 'value' }, ({ target }, g) => meanOfLabels(g, target)) },
});

function expectLabelled(logProbs: TensorMeta, target: TensorMeta): void {
  expectFloat('nllLoss', logProbs);
  if (target.dtype !== 'int32') {
    throw new DTypeError({
      what: 'nllLoss: class labels must be integers',
      given: formatSpec(target),
      expected: 'int32[n]',
      remedy: "cast the labels: target.to('int32')",
    });
  }
  const [n] = target.shape;
  if (logProbs.shape.length !== 2 || target.shape.length !== 1 || logProbs.shape[0] !== n) {
    throw new ShapeError({
      what: "nllLoss: scores and labels don't fit",
      given: `${formatSpec(logProbs)} and ${formatSpec(target)}`,
      expected: '[n, classes] and int32 [n]',
      remedy: 'flatten the leading dimensions of both',
    });
  }
}

export const nllLossOp = defineOp({
  name: 'nllLoss',
  operands: { logProbs: 'data', target: 'data' },
  dtypes: { logProbs: 'floating', target: 'int32' },
  infer: ([logProbs, target]) => {
    expectLabelled(logProbs!, target!);
    return { dtype: logProbs!.dtype, shape: [] };
  },
  kernel: named('nllLoss', lossesKernels.nllLoss),
  mayRefuse: true,
  vjp: {
    logProbs: saving({ target: 'value', logProbs: 'shape' }, ({ target, logProbs }, dy) =>
      bind1(nllLossGradOp, [dy, target, logProbs as Tensor]),
    ),
  },
});

/**
 * The log-probability of each row's label; 0 if that isn't a class, which `nllLossOfScores` rejects or ignores. Only
 * the compiler emits the two ops, for slices: only the second needs all rows and may throw.
 */
export const labelScoresOp = defineOp({
  name: 'labelScores',
  operands: { logProbs: 'data', target: 'data' },
  dtypes: { logProbs: 'floating', target: 'int32' },
  infer: ([logProbs, target]) => {
    expectLabelled(logProbs!, target!);
    return { dtype: logProbs!.dtype, shape: target!.shape };
  },
  kernel: named('labelScores', lossesKernels.labelScores),
  rows: perEntry(),
});

/** `nllLoss`, given the log-probabilities of the labels. */
export const nllLossOfScoresOp = defineOp({
  name: 'nllLossOfScores',
  operands: { scores: 'data', target: 'data' },
  dtypes: { scores: 'floating', target: 'int32' },
  attrs: { classes: 'size' },
  infer: ([scores]) => ({ dtype: scores!.dtype, shape: [] }),
  fits: ([scores, target]) => sameShape(scores!.shape, target!.shape) || 'a score per label',
  kernel: named('nllLossOfScores', lossesKernels.nllLoss),
  mayRefuse: true,
});

/**
 * The gradient of one counted log-probability: −dy divided by the number of counted labels. Only the compiler emits it.
 */
export const nllLossShareOp = defineOp({
  name: 'nllLossShare',
  operands: { dy: 'data', target: 'data' },
  dtypes: { dy: 'floating', target: 'int32' },
  infer: ([dy]) => ({ dtype: dy!.dtype, shape: [] }),
  kernel: named('nllLossShare', lossesKernels.nllLossShare),
});

/** logSoftmaxGrad of nllLossGrad, row by row, without the sparse intermediate tensor. Only the compiler emits it. */
export const crossEntropyGradOp = defineOp({
  name: 'crossEntropyGrad',
  operands: { share: 'data', target: 'data', out: 'data' },
  dtypes: { share: 'floating', target: 'int32' },
  infer: ([, , out]) => ({ dtype: out!.dtype, shape: out!.shape }),
  kernel: named('crossEntropyGrad', softmaxesKernels.crossEntropyGrad),
  rows: perEntry(0),
  overwrites: ['out'],
});

/** The mean of −logProbs[i, target[i]] over the labels other than −100; [n, classes] and int32 [n]. */
export function meanOfLabels(logProbs: Tensor, target: Tensor): Tensor {
  return bind1(nllLossOp, [logProbs, target]);
}
