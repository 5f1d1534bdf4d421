import { formatSpec } from '../device/tensor-meta.ts';
import { ShapeError } from '../errors/errors.ts';
import { gather } from '../ops/indexing/gather.ts';
import { zeros } from '../ops/movement/create.ts';
import { cat } from '../ops/movement/joining.ts';
import { narrow, squeeze, unsqueeze } from '../ops/movement/movement.ts';
import { logSoftmax } from '../ops/normalization/softmax.ts';
import { add, clamp, ge, logicalAnd, lt, neg, sub, where } from '../ops/pointwise/pointwise.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { argmax } from '../ops/reduce/extremes.ts';
import { mean } from '../ops/reduce/reduce.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { flag, positive, that } from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { ModuleList, Sequential } from './containers.ts';
import { Linear } from './linear.ts';
import { Module } from './module/module.ts';

export interface AdaptiveLogSoftmaxOptions {
  /** Each cluster's projection is smaller than the one before by this factor; 4 by default. */
  readonly divValue?: number;
  /** Whether the head has a bias; false by default. */
  readonly headBias?: boolean;
}

const optionKinds: OptionKinds<AdaptiveLogSoftmaxOptions> = { divValue: positive, headBias: flag };

/** The first class of each cluster, in ascending order. */
const cutoffsBelow = (classes: number) =>
  that(`integers in ascending order, each from 1 to ${classes - 1}`, (value) => {
    if (!Array.isArray(value) || value.length === 0) return false;
    const bounds: readonly unknown[] = [0, ...value, classes];
    return bounds.every(
      (each, i) => Number.isInteger(each) && (i === 0 || (each as number) > Number(bounds[i - 1])),
    );
  });

/** The log-probabilities of the targets, and the mean of their negatives. */
export interface AdaptiveLogSoftmaxResult {
  readonly output: Tensor;
  readonly loss: Tensor;
}

/**
 * Adaptive softmax (Grave et al., 2017) for many classes, ordered by frequency: the head has the frequent ones and a score
 * for each cluster of others, whose projections become smaller. Input [n, inFeatures] with int32 targets [n], or one
 * of each. Every cluster is computed for all rows, so that sizes don't depend on the targets.
 */
export class AdaptiveLogSoftmaxWithLoss extends Module {
  readonly cutoffs: readonly number[];
  readonly head: Linear;
  readonly tail: ModuleList<Sequential>;

  constructor(
    inFeatures: number,
    nClasses: number,
    cutoffs: readonly number[],
    options: AdaptiveLogSoftmaxOptions = {},
    ...surplus: []
  ) {
    super(...surplus);
    expectSizes('nn.AdaptiveLogSoftmaxWithLoss', { inFeatures, nClasses });
    expectArguments('AdaptiveLogSoftmaxWithLoss', { cutoffs }, { cutoffs: cutoffsBelow(nClasses) });
    expectOptions('AdaptiveLogSoftmaxWithLoss', options, optionKinds);
    const { divValue = 4, headBias = false } = options;
    this.cutoffs = [...cutoffs, nClasses];
    this.head = new Linear(inFeatures, cutoffs[0]! + cutoffs.length, { bias: headBias });
    this.tail = new ModuleList(
      cutoffs.map((first, i) => {
        const hidden = Math.floor(inFeatures / divValue ** (i + 1));
        return new Sequential(
          new Linear(inFeatures, hidden, { bias: false }),
          new Linear(hidden, this.cutoffs[i + 1]! - first, { bias: false }),
        );
      }),
    );
  }

  override forward(input: Tensor, target: Tensor): AdaptiveLogSoftmaxResult {
    expectTensors('AdaptiveLogSoftmaxWithLoss', input, target);
    if (target.rank > 1 || input.rank !== target.rank + 1 || input.shape[0] !== target.shape[0]) {
      if (target.rank !== 0 || input.rank !== 1) throw unfit(input, target);
    }
    return tidy(() => {
      if (target.rank === 1) return this.ofTargets(input, target);
      const { output, loss } = this.ofTargets(unsqueeze(input, 0), unsqueeze(target, 0));
      return { output: squeeze(output, 0), loss };
    });
  }

  /** Returns the log-probabilities of all classes: [n, inFeatures] → [n, nClasses]. */
  logProb(input: Tensor): Tensor {
    expectTensors('AdaptiveLogSoftmaxWithLoss.logProb', input);
    return tidy(() => {
      const head = logSoftmax(this.head.forward(input), -1);
      const [short] = this.cutoffs as [number];
      const clusters = this.tail.items.map((cluster, i) =>
        add(logSoftmax(cluster.forward(input) as Tensor, -1), narrow(head, -1, short + i, 1)),
      );
      return cat([narrow(head, -1, 0, short), ...clusters], -1);
    });
  }

  /** Returns the most probable class of each row: int32 [n]. */
  predict(input: Tensor): Tensor<'int32'> {
    return tidy(() => argmax(this.logProb(input), -1));
  }

  /** `forward` for a batch. */
  protected ofTargets(input: Tensor, target: Tensor): AdaptiveLogSoftmaxResult {
    const [short] = this.cutoffs as [number];
    let output: Tensor = zeros([], { dtype: input.dtype, device: input.device });
    // A target that is no class remains, and is out of range in the head, too.
    let inHead = target;
    this.tail.items.forEach((cluster, i) => {
      const [first, end] = [this.cutoffs[i]!, this.cutoffs[i + 1]!];
      const isOwn = logicalAnd(ge(target, first), lt(target, end));
      const place = clamp(sub(target, first), 0, end - first - 1);
      const logs = logSoftmax(cluster.forward(input) as Tensor, 1);
      const found = squeeze(gather(logs, 1, unsqueeze(place, 1)), 1);
      output = add(output, where(isOwn, found, 0));
      inHead = where(isOwn, short + i, inHead);
    });
    const head = logSoftmax(this.head.forward(input), 1);
    output = add(output, squeeze(gather(head, 1, unsqueeze(inHead, 1)), 1));
    return { output, loss: neg(mean(output)) };
  }
}

function unfit(input: Tensor, target: Tensor): ShapeError {
  return new ShapeError({
    what: 'AdaptiveLogSoftmaxWithLoss: the target has another shape than the batch',
    given: `input ${formatSpec(input)}, target ${formatSpec(target)}`,
    expected: 'input [n, inFeatures] and target [n], or [inFeatures] and []',
    remedy: 'flatten the batch: x.reshape([-1, features]), target.flatten()',
  });
}
