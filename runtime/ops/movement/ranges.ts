/** Ranges of numbers, and tensors with the shape, dtype and device of another tensor. */

import * as fillingKernels from '../../device/cpu/scalar/fill.ts';
import { named } from '../../device/kernel-op.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { canBeOptions } from '../../options/expect-options.ts';
import { type DType, dtypes } from '../../spec/dtype.ts';
import { contiguousStrides, type Shape } from '../../spec/shape.ts';
import { expectHeld } from '../../spec/stored-numbers.ts';
import { tidy } from '../../tensor/lifetime.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { add, mul } from '../arithmetic/arithmetic.ts';
import { bind1 } from '../core/bind.ts';
import { expand } from '../core/broadcast.ts';
import { cast } from '../core/cast.ts';
import { type CreateOptions, created } from '../core/creation-options.ts';
import {
  difference,
  equals,
  isAtMost,
  isInteger,
  minus,
  negated,
  plus,
  product,
  quotient,
  truncated,
} from '../numbers/number-arithmetic.ts';
import { isNumber } from '../numbers/symbolic-number.ts';
import { defineOp } from '../record/define-op.ts';
import { shapeOf } from '../record/expect-tensors.ts';
import { expectNumber } from '../record/positional.ts';
import { full } from './create.ts';
import { cat } from './joining.ts';
import { placed } from './place.ts';

export const arangeOp = defineOp({
  name: 'arange',
  operands: {},
  attrs: { count: 'size', start: 'number', step: 'number', dtype: 'dtype' },
  infer: (_inputs, { count, dtype }) => ({ dtype: dtype as DType, shape: [count as number] }),
  kernel: named('arange', fillingKernels.arange),
  numbers: ['start', 'step'],
});

/** Creates the numbers on the current device. */
function range(count: number, start: number, step: number, dtype: DType): Tensor {
  if (dtype !== 'bool') return bind1(arangeOp, [], { count, start, step, dtype });
  return tidy(() => cast(range(count, start, step, 'float32'), 'bool'));
}

/**
 * Numbers from `start` (0 by default) up to but excluding `end`: `arange(3)`, `arange(2, 8, 2)`, `arange(3, {
 * dtype: 'float32' })`. int32 by default if start, end and step are integers, else float32. Throws ArgumentError
 * if the steps never reach the end, DTypeError for integer bounds outside int32.
 */
export function arange(end: number, options?: CreateOptions): Tensor;
export function arange(start: number, end: number | null, options?: CreateOptions): Tensor;
export function arange(
  start: number,
  end?: number | null,
  step?: number,
  options?: CreateOptions,
): Tensor;
export function arange(first: number, ...rest: readonly (RangeArgument | undefined)[]): Tensor {
  const { numbers, options } = withoutOptions(rest);
  const [end, step = 1] = numbers;
  const [from, to] = end === undefined || end === null ? [0, first] : [first, end];
  expectNumber('arange', 'start', from);
  expectNumber('arange', 'end', to);
  expectNumber('arange', 'step', step);
  const by = step as number;
  const count = Math.ceil(quotient(difference(to, from), by));
  if (equals(by, 0) || !Number.isFinite(count) || count < 0) {
    throw new ArgumentError({
      what: 'arange: the step never reaches the end',
      given: `from ${from} to ${to} by ${by}`,
      expected: 'finite bounds, and a step that leads from the first to the second',
      remedy: 'check the sign of the step',
    });
  }
  const isWhole = isInteger(from) && isInteger(to) && isInteger(by);
  const dtype = isWhole ? 'int32' : 'float32';
  return created({ op: 'arange', options, dtype }, (resolved) => {
    if (!options.dtype) for (const bound of [from, to]) expectHeld(bound, resolved, 'arange');
    return range(count, from, by, resolved);
  });
}

type RangeArgument = number | null | CreateOptions;

/** Whether an argument is options, as opposed to a number, array or tensor. */
const isOptions = (value: unknown): value is CreateOptions =>
  canBeOptions(value) && !isNumber(value);

/** Separates positional numbers from the options, which may follow any of them as the last argument. */
function withoutOptions(args: readonly (RangeArgument | undefined)[]): {
  readonly numbers: readonly (number | null | undefined)[];
  readonly options: CreateOptions;
} {
  const at = args.findLastIndex((each) => each !== undefined);
  const last = args[at];
  const isLast = isOptions(last);
  const numbers = (isLast ? args.slice(0, at) : args) as (number | null | undefined)[];
  return { numbers, options: isLast ? last : {} };
}

/** `steps` evenly spaced numbers from `start` to `end`, inclusive. */
export function linspace(
  start: number,
  end: number,
  steps: number,
  options: CreateOptions = {},
): Tensor {
  expectNumber('linspace', 'start', start);
  expectNumber('linspace', 'end', end);
  if (!Number.isInteger(steps) || steps < 0) {
    throw new ArgumentError({
      what: 'linspace: not a number of steps',
      given: String(steps),
      expected: 'an integer from 0 on',
      remedy: 'pass how many numbers to make',
    });
  }
  return created({ op: 'linspace', options, dtype: 'float32' }, (dtype) => {
    if (!dtypes[dtype].floating && dtype !== 'bool') {
      for (const bound of [start, end]) expectHeld(bound, 'int32', 'linspace');
      const whole = (bound: number) => (isInteger(bound) ? bound : truncated(bound));
      if (steps > 1) return wholeRange(whole(start), whole(end), steps, dtype);
      return range(steps, whole(start), 0, dtype);
    }
    const step = steps > 1 ? quotient(minus(end, start), steps - 1) : 0;
    if (dtype !== 'float64' || steps < 2) return range(steps, start, step, dtype);
    // As in PyTorch, the second half is counted from the end, so that rounding errors don't miss it.
    const after = steps - Math.floor(steps / 2);
    return tidy(() => {
      const back = mul(range(after, after - 1, -1, dtype), negated(step));
      return cat([range(steps - after, start, step, dtype), add(back, end)]);
    });
  });
}

/**
 * Returns numbers between integers, truncated to integers: half of their least distance from the next integer, added
 * away from 0, keeps rounding errors from truncating an integer to the one before. Between bounds of two signs, each
 * side of 0 is a range of its own.
 */
function wholeRange(start: number, end: number, steps: number, dtype: DType): Tensor {
  const [step, nudge] = [quotient(minus(end, start), steps - 1), 0.5 / (steps - 1)];
  if (isAtMost(0, start) && isAtMost(0, end)) return range(steps, plus(start, nudge), step, dtype);
  if (isAtMost(start, 0) && isAtMost(end, 0)) return range(steps, minus(start, nudge), step, dtype);
  const outwards = isAtMost(start, end) ? nudge : -nudge;
  const before = Math.floor(quotient(negated(start), step)) + 1;
  const after = steps - before;
  const next = minus(plus(end, outwards), product(step, after - 1));
  return tidy(() =>
    cat([range(before, minus(start, outwards), step, dtype), range(after, next, step, dtype)]),
  );
}

/** An n×m matrix with ones on the main diagonal, zeros elsewhere: `eye(2)`, `eye(2, 3)`, `eye(2, { dtype: 'int32' })`. */
export function eye(n: number, options?: CreateOptions): Tensor;
export function eye(n: number, m?: number, options?: CreateOptions): Tensor;
export function eye(n: number, ...rest: readonly (RangeArgument | undefined)[]): Tensor {
  const { numbers, options } = withoutOptions(rest);
  const [m = n] = numbers as readonly number[];
  for (const [name, size] of Object.entries({ n, m })) expectNumber('eye', name, size);
  if (![n, m].every((size) => Number.isInteger(size) && size >= 0)) {
    throw new ArgumentError({
      what: 'eye: not a shape',
      given: `${n} × ${m}`,
      expected: 'integers from 0 on',
      remedy: 'pass the number of rows, and of columns if it differs',
    });
  }
  return created({ op: 'eye', options, dtype: 'float32' }, (dtype) =>
    tidy(() => {
      const one = expand(full([], 1, { dtype }), [Math.min(n, m)]);
      const [row = 0, column = 0] = contiguousStrides([n, m]);
      return placed(one, [n, m], { strides: [row + column], offset: 0 }, 0);
    }),
  );
}

export interface LikeOptions extends CreateOptions {
  /** The new shape. */
  readonly shape?: Shape | undefined;
}

const likeNames: readonly string[] = ['shape'];

/** A tensor filled with a number, with shape, dtype and device of `x`. */
export function fullLike(x: Tensor, value: number, options: LikeOptions = {}): Tensor {
  return filledLike('fullLike', x, value, options, likeNames);
}

function filledLike(
  op: string,
  x: Tensor,
  value: number,
  options: LikeOptions,
  names?: readonly string[],
): Tensor {
  const shape = shapeOf(op, x);
  expectNumber(op, 'value', value);
  const { dtype, device } = x;
  return created({ op, options, dtype, device, ...(names && { names }) }, (resolved) =>
    full(options.shape ?? shape, value, { dtype: resolved }),
  );
}

/** Zeros, with shape, dtype and device of `x`. */
export const zerosLike = (x: Tensor, options: LikeOptions = {}): Tensor => {
  return filledLike('zerosLike', x, 0, options, likeNames);
};
/** Ones, with shape, dtype and device of `x`. */
export const onesLike = (x: Tensor, options: LikeOptions = {}): Tensor => {
  return filledLike('onesLike', x, 1, options, likeNames);
};
/** Same as `zerosLike`: no tensor exposes previous contents of its memory. */
export const emptyLike = zerosLike;

/** A tensor of another shape filled with `value`, by default on the device and with the dtype of `x`. */
export const newFull = (
  x: Tensor,
  shape: Shape,
  value: number,
  options: CreateOptions = {},
): Tensor => newFilled('newFull', x, shape, value, options);
export const newZeros = (x: Tensor, shape: Shape, options: CreateOptions = {}): Tensor =>
  newFilled('newZeros', x, shape, 0, options);
export const newOnes = (x: Tensor, shape: Shape, options: CreateOptions = {}): Tensor =>
  newFilled('newOnes', x, shape, 1, options);
export const newEmpty = newZeros;

function newFilled(
  op: string,
  x: Tensor,
  shape: Shape,
  value: number,
  options: CreateOptions,
): Tensor {
  expectNumber(op, 'value', value);
  const { dtype, device } = x;
  return created({ op, options, dtype, device }, (resolved) =>
    full(shape, value, { dtype: resolved }),
  );
}
