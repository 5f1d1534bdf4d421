import { noGrad } from '../autograd/grad-mode.ts';
import { add_, addcdiv_, addcmul_, fill_ } from '../ops/in-place.ts';
import { sqrt } from '../ops/pointwise.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonNegative, Optimizer, type Parameters, type Update } from './optimizer.ts';
import { penalized } from './penalty.ts';

export interface AdagradOptions {
  /** 0.01 when left out. */
  readonly lr?: number;
  /** The rate is divided by 1 + (step − 1)·lrDecay. */
  readonly lrDecay?: number;
  /** L2 penalty, added to the gradient. */
  readonly weightDecay?: number;
  /** What the sums of squares start from; 0 when left out. */
  readonly initialAccumulator?: number;
  readonly eps?: number;
}

/** Duchi, Hazan and Singer's Adagrad: gradients divided by the root of the sum of all their squares. */
export class Adagrad extends Optimizer {
  readonly lrDecay: number;
  readonly eps: number;
  readonly sums: readonly Tensor[];

  constructor(parameters: Parameters, options: AdagradOptions = {}) {
    super(parameters, options.lr ?? 0.01, options.weightDecay);
    this.lrDecay = nonNegative('lrDecay', options.lrDecay ?? 0);
    this.eps = nonNegative('eps', options.eps ?? 1e-10);
    this.sums = this.newState('sums');
    const start = nonNegative('initialAccumulator', options.initialAccumulator ?? 0);
    if (start > 0) noGrad(() => this.sums.forEach((sum) => void fill_(sum, start)));
  }

  protected override update({ target, grad, group, index, count }: Update): void {
    const slope = penalized(grad, target, group);
    const sum = this.sums[index]!;
    addcmul_(sum, slope, slope);
    const denominator = sqrt(sum);
    add_(denominator, this.eps);
    addcdiv_(target, slope, denominator, -group.lr / (1 + (count - 1) * this.lrDecay));
  }
}
