import { cast } from '../ops/core/cast.ts';
import { add_, mul_ } from '../ops/in-place/in-place.ts';
import { clampMin, div, mul, neg, rsqrt, sqrt, square } from '../ops/pointwise/pointwise.ts';
import { mean } from '../ops/reduce/reduce.ts';
import { expectOptions, type OptionKinds, wrongValue } from '../options/expect-options.ts';
import { anyNumber, arrayOf, orNull } from '../options/option-kinds.ts';
import type { DType } from '../spec/dtype.ts';
import type { Tensor } from '../tensor/tensor.ts';
import {
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
  type StateSpec,
  type Update,
} from './optimizer.ts';
import { rateKinds, ratesOf } from './optimizer-options.ts';

interface AdafactorGroup {
  beta2Decay: number;
  eps: readonly [root: number | null, scale: number];
  d: number;
}

export interface AdafactorOptions extends Partial<Rates> {
  /** A new gradient's share of the averages is this power of the step count; −0.8 by default. */
  readonly beta2Decay?: number;
  /** The least root of an average, by default the dtype's precision, and the least scale of a parameter, 0.001. */
  readonly eps?: readonly [root: number | null, scale: number];
  /** The root mean square above which an update is scaled down; 1 by default. */
  readonly d?: number;
}

const adafactorKinds: OptionKinds<AdafactorOptions> = {
  ...rateKinds,
  beta2Decay: anyNumber,
  eps: arrayOf(orNull(anyNumber), 2),
  d: anyNumber,
};

interface Shares {
  /** The share of the new gradient in the averages. */
  readonly share: number;
  /** The rate for a parameter of scale 1. */
  readonly rate: number;
}

const precisions: Readonly<Partial<Record<DType, number>>> = {
  float64: 2 ** -52,
  float32: 2 ** -23,
  float16: 2 ** -10,
  bfloat16: 2 ** -7,
};

/** The averages of a matrix's rows [.., n, 1]; of each element of a vector. */
const rowsOf = ({ dtype, shape }: StateSpec): StateSpec => ({
  dtype,
  shape: shape.length > 1 ? [...shape.slice(0, -1), 1] : shape,
});

/** The averages of a matrix's columns [.., 1, m]; none of a vector. */
const columnsOf = ({ dtype, shape }: StateSpec): StateSpec => ({
  dtype,
  shape: shape.length > 1 ? [...shape.slice(0, -2), 1, shape.at(-1)!] : [0],
});

/**
 * Adafactor (Shazeer and Stern, 2018): squares of gradients are averaged by row and by column alone, so that the state of
 * a matrix [n, m] is n + m numbers. lr 0.01 by default, relative to the root mean square of each parameter.
 */
export class Adafactor extends Optimizer<AdafactorGroup, Shares> {
  readonly rows: readonly Tensor[];
  readonly columns: readonly Tensor[];

  constructor(
    parameters: Parameters<AdafactorGroup>,
    options: AdafactorOptions = {},
    ...surplus: []
  ) {
    expectOptions('Adafactor', options, adafactorKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 1e-2),
        beta2Decay: options.beta2Decay ?? -0.8,
        eps: options.eps ?? [null, 1e-3],
        d: options.d ?? 1,
      },
      ...surplus,
    );
    this.rows = this.newState('rows', rowsOf);
    this.columns = this.newState('columns', columnsOf);
  }

  protected override check(group: ParameterGroup<AdafactorGroup>): void {
    super.check(group);
    const { beta2Decay, d, eps } = group;
    if (!(beta2Decay <= 0))
      throw wrongValue('optimizer', 'beta2Decay', beta2Decay, 'a number, 0 or less');
    if (!(d >= 1)) throw wrongValue('optimizer', 'd', d, 'a number, 1 or more');
    nonNegative('eps', eps[0] ?? 0);
    nonNegative('eps', eps[1]);
  }

  protected override factors(group: ParameterGroup<AdafactorGroup>, count: number): Shares {
    return { share: count ** group.beta2Decay, rate: Math.min(group.lr, 1 / Math.sqrt(count)) };
  }

  protected override update(
    { target, grad, group, index }: Update<AdafactorGroup>,
    { share, rate }: Shares,
  ): void {
    const { lr, weightDecay, d } = group;
    const [least = null, leastScale] = group.eps;
    const eps = least ?? precisions[target.dtype]!;
    const scale = mul(clampMin(rootMeanSquare(target), leastScale), rate);
    if (weightDecay > 0) mul_(target, 1 - lr * weightDecay);
    const squares = this.estimated(square(grad), index, share, eps);
    const step = mul(rsqrt(clampMin(squares, eps * eps)), grad);
    const shrunk = clampMin(div(rootMeanSquare(step), d), 1);
    add_(target, mul(step, neg(div(scale, shrunk))));
  }

  /** Updates the averages, and returns what they say of the average of each square. */
  protected estimated(squares: Tensor, index: number, share: number, eps: number): Tensor {
    const [rows, columns] = [this.rows[index]!, this.columns[index]!];
    if (squares.rank < 2) {
      blend(rows, squares, share);
      return rows;
    }
    blend(rows, mean(squares, -1, { keepDim: true }), share);
    blend(columns, mean(squares, -2, { keepDim: true }), share);
    return div(mul(rows, columns), clampMin(mean(rows, -2, { keepDim: true }), eps));
  }
}

/** Squares of half-precision elements would overflow from 256 on. */
const rootMeanSquare = (x: Tensor): Tensor =>
  x.dtype === 'float16' || x.dtype === 'bfloat16'
    ? cast(sqrt(mean(square(cast(x, 'float32')))), x.dtype)
    : sqrt(mean(square(x)));

function blend(average: Tensor, latest: Tensor, share: number): void {
  mul_(average, 1 - share);
  add_(average, latest, share);
}
