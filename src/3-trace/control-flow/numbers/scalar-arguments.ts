/** Device scalars as arguments of the tensor API. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { contiguousMeta } from '../../../../runtime/device/tensor-meta.ts';
import { InvariantError } from '../../../../runtime/errors/invariant.ts';
import { bind1, withInterceptor } from '../../../../runtime/ops/core/bind.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import * as filled from '../../../../runtime/ops/in-place/filled.ts';
import * as inPlace from '../../../../runtime/ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../../../../runtime/ops/in-place/pointwise-in-place.ts';
import { ShapeDependsOnData } from '../../../../runtime/ops/indexing/data-dependent.ts';
import * as pointwise from '../../../../runtime/ops/pointwise/pointwise.ts';
import { ProgramBuilder } from '../../../../runtime/program/builder.ts';
import { hostNumberOp } from '../../../../runtime/program/control-ops.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { GraphBreak } from '../../../traces/graph-break.ts';
import { asOp } from '../../state/op-error.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { numberNeeded } from '../../variables/number-needed.ts';
import { resolved } from '../../variables/unions.ts';
import type { DeviceScalar, TensorVariable, Variable } from '../../variables/variable.ts';
import { asNumber, scalarOperand } from './scalars.ts';

const { prototype } = Tensor;

/** Returns the tensor method of this name. */
export const methodNamed = (name: string): unknown =>
  Object.getOwnPropertyDescriptor(prototype, name)?.value;

/** Found when a call first has a device scalar among its arguments. */
let operandFunctions: ReadonlySet<unknown> | undefined;

/** Returns whether the function's number arguments are operands, like tensors, and determine no shape. */
export function takesOperands(fn: unknown): boolean {
  operandFunctions ??= new Set<unknown>(
    [pointwise, inPlace, pointwiseInPlace]
      .flatMap((module) => Object.entries(module))
      // It computes in float64, but a tensor of the other operand's dtype would round the number first.
      .filter(([, fn]) => fn !== pointwise.floatPower)
      .flatMap(([name, fn]) => [fn, methodNamed(name)]),
  );
  return operandFunctions.has(fn);
}

/**
 * Calls the function with plain numbers in place of device scalars, in a program that is discarded: eager
 * execution may reject a number where it accepts a tensor.
 */
export function expectNumbersTaken(
  t: Tracer,
  fn: (...args: never[]) => unknown,
  receiver: Variable,
  args: readonly Variable[],
): void {
  const operands = args.map(resolved);
  if (!operands.some(({ kind }) => kind === 'scalar') || !takesOperands(fn)) return;
  const trial = new ProgramBuilder(() => {
    throw new InvariantError('a tensor with data in a trial of a call');
  });
  const sampleOf = (variable: Variable): unknown => {
    if (variable.kind === 'scalar') return variable.type === 'boolean' ? true : 1;
    if (variable.kind === 'symbolic') return variable.value;
    const tensor = tensorOf(t, variable);
    if (!tensor) return constantOf(t, variable);
    const { dtype, device } = tensor;
    const shape = variable.kind === 'dynamic' ? [] : tensor.shape;
    return trial.input(contiguousMeta({ dtype, shape }, device));
  };
  if (!operands.every(({ kind }) => kind in sampled)) return;
  const self = tensorOf(t, receiver) && sampleOf(receiver);
  const values = operands.map(sampleOf);
  asOp(t, () => {
    try {
      withInterceptor(trial, () => noGrad(() => Reflect.apply(fn, self, values)));
    } catch (error) {
      // The call itself reports this.
      if (!(error instanceof ShapeDependsOnData)) throw error;
    }
  });
}

const sampled = { scalar: 1, symbolic: 1, constant: 1, tensor: 1, dynamic: 1 };

/** Converts device scalars that meet a tensor to tensors of its dtype, as for JavaScript numbers. */
export function scalarOperands(
  t: Tracer,
  fn: { readonly name: string },
  self: unknown,
  args: readonly Variable[],
): readonly Variable[] {
  const scalar = args.find((arg): arg is DeviceScalar => arg.kind === 'scalar');
  if (!scalar) return args;
  if (!takesOperands(fn)) throw decidesShape(fn.name, scalar);
  const operands = [self, ...args.map((arg) => (arg.kind === 'tensor' ? t.use(arg) : null))];
  // A condition doesn't take part in dtype promotion.
  const joined = fn === pointwise.where ? operands.slice(2) : operands;
  const tensor = joined.find((each): each is Tensor => each instanceof Tensor);
  const like = tensor ?? (fn === pointwise.where ? likeChoices(args.slice(1)) : undefined);
  return args.map((arg) => (arg.kind === 'scalar' ? scalarOperand(t, arg, like) : arg));
}

/** Without a fraction among the choices, the result is an integer if all chosen numbers are. */
function likeChoices(choices: readonly Variable[]): Pick<Tensor, 'dtype'> | undefined {
  const isFraction = (choice: Variable) =>
    choice.kind === 'constant' &&
    typeof choice.value === 'number' &&
    !Number.isInteger(choice.value);
  return choices.some(isFraction) ? undefined : { dtype: 'bool' };
}

export function decidesShape(name: string, scalar: DeviceScalar): GraphBreak {
  return numberNeeded(scalar, `is an argument of ${name}, which decides a shape or a mode by it`);
}

/** In-place ops that add a tensor expression times a number, with the expression as their kernels round it. */
const scaledWrites = new Map<unknown, (parts: readonly Tensor[]) => Tensor>(
  [
    { fn: inPlace.add_, part: ([y]: readonly Tensor[]) => y! },
    { fn: pointwiseInPlace.sub_, part: ([y]: readonly Tensor[]) => pointwise.neg(y!) },
    { fn: inPlace.addcmul_, part: ([y, z]: readonly Tensor[]) => pointwise.mul(y!, z!) },
    { fn: inPlace.addcdiv_, part: ([y, z]: readonly Tensor[]) => pointwise.div(y!, z!) },
  ].flatMap(({ fn, part }) => [
    [fn, part],
    [methodNamed(fn.name), part],
  ]),
);

/** `x.addcdiv_(y, z, s)` and similar calls with a device scalar; undefined for other calls. */
export function scaledWrite(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): TensorVariable | undefined {
  const part = scaledWrites.get(fn);
  const operands = receiver.kind === 'tensor' ? [receiver, ...args] : args;
  const factor = operands[operands.length - 1];
  const tensors = operands.slice(0, -1);
  if (!part || factor?.kind !== 'scalar' || tensors.length < 2) return undefined;
  if (!tensors.every((each): each is TensorVariable => each.kind === 'tensor')) return undefined;
  const [target, ...parts] = tensors.map((each) => t.use(each));
  t.control.copied.expectNone(t.surroundings, target!);
  const scale = t.use(scalarOperand(t, factor, target));
  const written = t.perform<Tensor>([target, parts, scale], ([to, from, by]) =>
    inPlace.add_(to as Tensor, pointwise.mul(part(from as Tensor[]), by as Tensor)),
  );
  return t.result(written);
}

/** `x.fill_(s)` with a device scalar, as a copy from it; undefined for other calls. */
export function filledWith(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): TensorVariable | undefined {
  const [target, number] = receiver.kind === 'tensor' ? [receiver, ...args] : args;
  if (fn !== inPlace.fill_ && fn !== methodNamed('fill_')) return undefined;
  if (target?.kind !== 'tensor' || number?.kind !== 'scalar') return undefined;
  const x = t.use(target);
  t.control.copied.expectNone(t.surroundings, x);
  const value = t.use(scalarOperand(t, number, x));
  return t.result(
    t.perform<Tensor>([x, value], ([to, from]) => filled.fill_(to as Tensor, from as Tensor)),
  );
}

type Comparison = (x: Tensor, y: Tensor) => Tensor;

/** Comparisons of a tensor with a number, as functions and methods. */
const comparisons = new Map<unknown, Comparison>(
  [pointwise.eq, pointwise.ne, pointwise.lt, pointwise.le, pointwise.gt, pointwise.ge].flatMap(
    (compare, i): [unknown, Comparison][] => [
      [compare, compare],
      [methodNamed(['eq', 'ne', 'lt', 'le', 'gt', 'ge'][i]!), compare],
    ],
  ),
);

/** A comparison of integers or booleans with a data-dependent number, as a call on two tensors. */
interface NumberComparison {
  readonly fn: Comparison;
  readonly args: readonly Variable[];
}

/**
 * `x.lt(n)` for a tensor of integers or booleans and a data-dependent number; undefined for other calls. Eager
 * comparisons are exact for a whole number and in float32 for a fraction, so each run computes both and selects one.
 */
export function integersCompared(
  t: Tracer,
  fn: unknown,
  receiver: Variable,
  args: readonly Variable[],
): NumberComparison | undefined {
  const compare = comparisons.get(fn);
  const isMethod = receiver.kind === 'tensor' || receiver.kind === 'dynamic';
  const [left, right] = (isMethod ? [receiver, ...args] : args).map(resolved);
  if (!compare || right?.kind !== 'scalar' || right.type !== 'number') return undefined;
  const tensor = left && tensorOf(t, left);
  if (!tensor || isFloating(tensor) || !isFloating(right.tensor)) return undefined;
  return { fn: comparedWith(compare), args: [left, t.result(asNumber(t, right))] };
}

function tensorOf(t: Tracer, variable: Variable): Tensor | undefined {
  if (variable.kind === 'tensor') return t.use(variable);
  return variable.kind === 'dynamic' ? variable.tensor : undefined;
}

const isFloating = ({ dtype }: Tensor): boolean => dtypes[dtype].floating;

const comparedWith =
  (compare: Comparison): Comparison =>
  (x, number) =>
    noGrad(() => {
      const isWhole = bind1(hostNumberOp, [number], { fn: 'Number.isInteger' });
      const exact = compare(cast(x, 'float64'), number);
      const rounded = compare(cast(x, 'float32'), cast(number, 'float32'));
      return pointwise.where(isWhole, exact, rounded);
    });
