/** Losses on probabilities: binary cross entropy and divergences. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul, neg, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { exp, log, log1p } from '../arithmetic/functions.ts';
import { sumTo } from '../core/broadcast.ts';
import { bindFloats, inferBinary, pointwise } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { E } from '../expr/expr.ts';
import * as F from '../expr/expr-functions.ts';
import { sigmoid } from '../pointwise/activations.ts';
import { clampMin, xlogy } from '../pointwise/combining.ts';
import { logSigmoid } from '../pointwise/smooth-activations.ts';
import { defineOp, saving } from '../record/define-op.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { sum } from '../reduce/reduce.ts';
import { type LossOptions, type Reduction, reduced } from '../reduce/reduction-options.ts';
import { binaryKinds, klDivKinds, logitKinds } from './loss-kinds.ts';
import { expectTargetOf } from './loss-of.ts';

const x = E.input(0);
const y = E.input(1);
const one = E.const(1);
/** Logarithms are clamped to −100, so that a confident mistake has a finite loss. */
const least = E.const(-100);

export const binaryCrossEntropyOp = defineOp({
  name: 'binaryCrossEntropy',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('binaryCrossEntropy'),
  kernel: pointwise(
    E.neg(
      E.add(
        E.mul(y, E.max(E.log(x), least)),
        E.mul(E.sub(one, y), E.max(F.log1p(E.neg(x)), least)),
      ),
    ),
  ),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => {
      const spread = clampMin(mul(x, add(neg(x), 1)), 1e-12);
      return sumTo(mul(dy, div(sub(x, y), spread)), x);
    }),
    y: saving({ x: 'value', y: 'shape' }, ({ x, y }, dy) => {
      const slope = sub(clampMin(log1p(neg(x)), -100), clampMin(log(x), -100));
      return sumTo(mul(dy, slope), y);
    }),
  },
});

export const logitCrossEntropyOp = defineOp({
  name: 'binaryCrossEntropyWithLogits',
  operands: { x: 'data', y: 'data' },
  infer: inferBinary('binaryCrossEntropyWithLogits'),
  kernel: pointwise(
    E.add(E.sub(E.max(x, E.const(0)), E.mul(x, y)), F.log1p(E.exp(E.neg(E.abs(x))))),
  ),
  vjp: {
    x: saving({ x: 'value', y: 'value' }, ({ x, y }, dy) => sumTo(mul(dy, sub(sigmoid(x), y)), x)),
    y: saving({ x: 'value', y: 'shape' }, ({ x, y }, dy) => sumTo(neg(mul(dy, x)), y)),
  },
});

export interface BinaryOptions extends LossOptions {
  /** The factor of each loss; broadcasts. */
  readonly weight?: Tensor | null;
}

/**
 * −(target · ln x + (1 − target) · ln(1 − x)) of probabilities x. The result is NaN where x is outside [0, 1]. PyTorch
 * throws, which requires reading all values in every call; to check, use
 * `x.ge(0).logicalAnd(x.le(1)).all().itemSync()`.
 */
export function binaryCrossEntropy(x: Tensor, target: Tensor, options: BinaryOptions = {}): Tensor {
  expectTensors('binaryCrossEntropy', x, target);
  expectOptions('binaryCrossEntropy', options, binaryKinds);
  expectTargetOf('binaryCrossEntropy', x, target);
  const { weight = null, ...rest } = options;
  if (anyHalf(x, target, weight))
    return roundedOnce([x, target, weight], (a, b, w) =>
      binaryCrossEntropy(a, b, { weight: w, ...rest }),
    );
  return tidy(() => {
    const losses = bindFloats(binaryCrossEntropyOp, x, target);
    return reduced('binaryCrossEntropy', weight ? mul(losses, weight) : losses, rest);
  });
}

export interface LogitOptions extends BinaryOptions {
  /** The factor of the loss for target 1; broadcasts. */
  readonly posWeight?: Tensor | null;
}

/** Binary cross entropy of raw scores: sigmoid and loss combined, without overflow or loss of precision. */
export function binaryCrossEntropyWithLogits(
  x: Tensor,
  target: Tensor,
  options: LogitOptions = {},
): Tensor {
  expectTensors('binaryCrossEntropyWithLogits', x, target);
  expectOptions('binaryCrossEntropyWithLogits', options, logitKinds);
  expectTargetOf('binaryCrossEntropyWithLogits', x, target);
  const { weight = null, posWeight = null, ...rest } = options;
  if (anyHalf(x, target, weight, posWeight))
    return roundedOnce([x, target, weight, posWeight], (a, b, w, p) =>
      binaryCrossEntropyWithLogits(a, b, { weight: w, posWeight: p, ...rest }),
    );
  return tidy(() => {
    const losses = posWeight
      ? weighedLogits(x, target, posWeight)
      : bindFloats(logitCrossEntropyOp, x, target);
    const scaled = weight ? mul(losses, weight) : losses;
    return reduced('binaryCrossEntropyWithLogits', scaled, rest);
  });
}

function weighedLogits(x: Tensor, target: Tensor, posWeight: Tensor): Tensor {
  const factor = add(mul(add(posWeight, -1), target), 1);
  return sub(mul(add(neg(target), 1), x), mul(factor, logSigmoid(x)));
}

export interface KlDivOptions {
  /** 'batchmean' divides the sum by the first dimension. 'mean' by default. */
  readonly reduction?: Reduction | 'batchmean';
  /** Whether the target contains logarithms, too. */
  readonly logTarget?: boolean;
}

/** target · (ln target − x), where x are log-probabilities. */
export function klDiv(x: Tensor, target: Tensor, options: KlDivOptions = {}): Tensor {
  return naming('klDiv', () => {
    expectTensors('klDiv', x, target);
    expectOptions('klDiv', options, klDivKinds);
    const { reduction = 'mean', logTarget = false } = options;
    if (anyHalf(x, target))
      return roundedOnce([x, target], (a, b) => klDiv(a, b, { reduction, logTarget }));
    if (reduction === 'batchmean' && x.shape[0] === 0) {
      throw new ArgumentError({
        what: 'klDiv: no batch to take the mean over',
        given: formatSpec(x),
        expected: "a first dimension with entries, or another reduction than 'batchmean'",
        remedy: "use 'sum'",
      });
    }
    return tidy(() => {
      const losses = logTarget
        ? mul(exp(target), sub(target, x))
        : sub(xlogy(target, target), mul(target, x));
      if (reduction === 'batchmean') return div(sum(losses), x.shape[0] ?? 1);
      return reduced('klDiv', losses, { reduction });
    });
  });
}
