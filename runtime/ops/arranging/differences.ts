/** Numerical calculus along a dimension: differences, slopes and areas. */

import { formatSpec } from '../../device/tensor-meta.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { naming } from '../../errors/naming.ts';
import { expectOptions } from '../../options/expect-options.ts';
import {
  anyOperand,
  arrayOf,
  aTensor,
  either,
  judgedLater,
  oneOf,
  orNull,
} from '../../options/option-kinds.ts';
import { normalizeDim } from '../../spec/shape.ts';
import { tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { add, mul, sub } from '../arithmetic/arithmetic.ts';
import { div } from '../arithmetic/division.ts';
import { cast } from '../core/cast.ts';
import { floating } from '../core/promotion.ts';
import { anyHalf, roundedOnce } from '../core/rounded-once.ts';
import { cat } from '../movement/joining.ts';
import { clone, narrow, reshape } from '../movement/movement.ts';
import { plus, quotient } from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { ne } from '../pointwise/comparison.ts';
import { expectTensors } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { sum } from '../reduce/reduce.ts';
import { cumsum } from '../reduce/scans.ts';

export interface DiffOptions {
  /** Concatenated before and after the tensor. */
  readonly prepend?: Tensor | null;
  readonly append?: Tensor | null;
}

/** Differences of adjacent entries, `n` times. For booleans: whether they differ. */
export function diff(x: Tensor, n = 1, dim = -1, options: DiffOptions = {}): Tensor {
  expectTensors('diff', x);
  expectNumber('diff', 'n', n);
  expectOptions('diff', options, { prepend: orNull(aTensor), append: orNull(aTensor) });
  const at = normalizeDim(dim, x.rank, 'diff');
  if (x.rank === 0 || !Number.isInteger(n) || n < 0) {
    throw new ArgumentError({
      what: 'diff: no differences to take',
      given: `order ${n} of ${formatSpec(x)}`,
      expected: 'an order from 0 on, and at least one dimension',
      remedy: 'reshape the tensor to [1]',
    });
  }
  const { prepend = null, append = null } = options;
  if (n > 1 && anyHalf(x, prepend, append)) {
    return roundedOnce([x, prepend, append], (converted, before, after) =>
      diff(converted, n, dim, { prepend: before, append: after }),
    );
  }
  return tidy(() => {
    if (n === 0) return clone(x);
    const ends = [prepend, x, append].filter((each) => each !== null);
    let result = ends.length > 1 ? cat(ends, at) : x;
    const steps = Math.min(n, result.shape[at]! + 1);
    for (let i = 0; i < steps; i++) result = stepped(result, at);
    return result;
  });
}

function stepped(x: Tensor, dim: number): Tensor {
  const [later, earlier] = neighbours(x, dim);
  return x.dtype === 'bool' ? ne(later, earlier) : sub(later, earlier);
}

/** Returns all entries except the first, and all except the last. */
function neighbours(x: Tensor, dim: number): [later: Tensor, earlier: Tensor] {
  const size = x.shape[dim]!;
  const length = Math.max(0, size - 1);
  return [narrow(x, dim, size - length, length), narrow(x, dim, 0, length)];
}

export interface GradientOptions {
  /** The distance between entries (1 by default), or per dimension either a distance or the coordinates. */
  readonly spacing?: number | readonly (number | Tensor)[];
  /** All dimensions by default. */
  readonly dim?: number | readonly number[];
  /** The order of accuracy at both ends. */
  readonly edgeOrder?: 1 | 2;
}

const gradientOptions = {
  spacing: either(anyOperand, arrayOf(either(anyOperand, aTensor))),
  dim: judgedLater,
  edgeOrder: oneOf(1, 2),
};

/** Slopes along each dimension, by second-order central differences. */
export function gradient(x: Tensor, options: GradientOptions = {}): Tensor[] {
  expectTensors('gradient', x);
  expectOptions('gradient', options, gradientOptions);
  const { spacing = 1, dim = x.shape.map((_, d) => d), edgeOrder = 1 } = options;
  const dims = [dim].flat().map((item) => normalizeDim(item as number, x.rank, 'gradient'));
  const steps = isNumber(spacing) ? dims.map(() => spacing) : spacing;
  const tooShort = dims.some((item) => (x.shape[item] ?? 0) < edgeOrder + 1);
  if (steps.length !== dims.length || tooShort) {
    throw new ArgumentError({
      what: 'gradient: not enough places',
      given: `${steps.length} spacings for dimensions [${dims.join(',')}] of ${formatSpec(x)}`,
      expected: `one spacing per dimension, and at least ${edgeOrder + 1} entries in each`,
      remedy: 'leave dimensions out with the option dim',
    });
  }
  return tidy(() => {
    const numbers = cast(x, floating(x.dtype));
    return dims.map((item, i) =>
      roundedOnce(
        [numbers, steps[i]!],
        (values, step) => slopes(values, item, step, edgeOrder),
        numbers.dtype,
      ),
    );
  });
}

/** Distances between adjacent entries: a number, or a tensor that broadcasts along `dim`. */
type Gaps = number | Tensor;

function slopes(x: Tensor, dim: number, spacing: number | Tensor, edgeOrder: 1 | 2): Tensor {
  const size = x.shape[dim]!;
  const gaps: Gaps =
    spacing instanceof Tensor
      ? reshape(
          diff(reshape(spacing, [size])),
          x.shape.map((_, d) => (d === dim ? size - 1 : 1)),
        )
      : spacing;
  const gapAt = (start: number, length: number): Gaps =>
    isNumber(gaps) ? gaps : narrow(gaps, dim, start, length);
  const rises = diff(x, 1, dim);
  // Slopes between adjacent entries.
  const pieces = div(rises, gaps);
  const piece = (start: number, length: number) => narrow(pieces, dim, start, length);
  if (size === 2) return cat([piece(0, 1), piece(0, 1)], dim);
  const [before, after] = [gapAt(0, size - 2), gapAt(1, size - 2)];
  const inner = weighed(piece(0, size - 2), after, piece(1, size - 2), before);
  if (edgeOrder === 1) return cat([piece(0, 1), inner, piece(size - 2, 1)], dim);
  const first = extrapolated(piece(0, 1), piece(1, 1), gapAt(0, 1), gapAt(1, 1));
  const last = extrapolated(
    piece(size - 2, 1),
    piece(size - 3, 1),
    gapAt(size - 2, 1),
    gapAt(size - 3, 1),
  );
  return cat([first, inner, last], dim);
}

const total = (a: Gaps, b: Gaps): Gaps =>
  isNumber(a) ? (isNumber(b) ? plus(a, b) : add(b, a)) : add(a, b);

/** The weighted mean of two slopes, each weighted by the distance of the other. */
function weighed(a: Tensor, weightA: Gaps, b: Tensor, weightB: Gaps): Tensor {
  return div(add(mul(a, weightA), mul(b, weightB)), total(weightA, weightB));
}

/** The slope at an end, from the parabola through three points. */
function extrapolated(near: Tensor, far: Tensor, nearGap: Gaps, farGap: Gaps): Tensor {
  const bend = div(mul(sub(near, far), nearGap), total(nearGap, farGap));
  return add(near, bend);
}

export interface TrapezoidOptions {
  /** Coordinates of the samples; equally spaced by `dx` (1) by default. */
  readonly x?: Tensor | null;
  readonly dx?: number;
  readonly dim?: number;
}

const trapezoidOptions = { x: orNull(aTensor), dx: anyOperand, dim: judgedLater };

function trapezoidAreas(
  name: string,
  samples: Tensor,
  { x = null, dx = 1, dim = -1 }: TrapezoidOptions,
) {
  const y = cast(samples, floating(samples.dtype));
  const at = normalizeDim(dim, y.rank, name);
  const [later, earlier] = neighbours(y, at);
  const height = add(later, earlier);
  if (!x) return { at, own: mul(height, quotient(dx, 2)) };
  // One-dimensional coordinates belong to `dim`.
  const gaps = x.rank === 1 ? diff(x) : diff(x, 1, at - y.rank);
  const shape = y.shape.map((_, d) => (d === at ? gaps.numel() : 1));
  return { at, own: mul(mul(height, x.rank === 1 ? reshape(gaps, shape) : gaps), 0.5) };
}

/** The area under the samples along a dimension, by the trapezoidal rule. */
export function trapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  return naming('trapezoid', () => {
    expectTensors('trapezoid', y);
    expectOptions('trapezoid', options, trapezoidOptions);
    if (anyHalf(y, options.x ?? null))
      return roundedOnce([y, options.x ?? null], (values, places) =>
        trapezoid(values, { ...options, x: places }),
      );
    return tidy(() => {
      const { at, own } = trapezoidAreas('trapezoid', y, options);
      return sum(own, at - y.rank);
    });
  });
}

/** The areas up to each sample except the first. */
export function cumulativeTrapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  return naming('cumulativeTrapezoid', () => {
    expectTensors('cumulativeTrapezoid', y);
    expectOptions('cumulativeTrapezoid', options, trapezoidOptions);
    if (anyHalf(y, options.x ?? null))
      return roundedOnce([y, options.x ?? null], (values, places) =>
        cumulativeTrapezoid(values, { ...options, x: places }),
      );
    return tidy(() => {
      const { at, own } = trapezoidAreas('cumulativeTrapezoid', y, options);
      return cumsum(own, at - y.rank);
    });
  });
}
