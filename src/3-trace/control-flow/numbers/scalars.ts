/** Device scalars: numbers and booleans that a program reads from a tensor or computes from such reads. */

import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../../../runtime/device/current.ts';
import type { Device } from '../../../../runtime/device/device.ts';
import { bind1 } from '../../../../runtime/ops/core/bind.ts';
import { cast } from '../../../../runtime/ops/core/cast.ts';
import { full } from '../../../../runtime/ops/movement/create.ts';
import { clone, reshape } from '../../../../runtime/ops/movement/movement.ts';
import {
  hostScalarNames,
  scalarFunctions,
} from '../../../../runtime/ops/numbers/scalar-functions.ts';
import * as ops from '../../../../runtime/ops/pointwise/pointwise.ts';
import { hostNumberOp } from '../../../../runtime/program/control-ops.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { single } from '../../../../runtime/tensor-methods/read.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { BinaryOperator, Primitive } from '../../../vm/bytecode/instructions.ts';
import { appliedTo, constant } from '../../inputs/applied-number.ts';
import { asOp } from '../../state/op-error.ts';
import { guardNumbers } from '../../state/symbolic-guards.ts';
import { DeferredNumber } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { numberNeeded } from '../../variables/number-needed.ts';
import { sampleRuns } from '../../variables/sample-numbers.ts';
import {
  type DeviceScalar,
  known,
  type SymbolicVariable,
  type TensorVariable,
  type Variable,
} from '../../variables/variable.ts';
import { asInteger, isWholeTensor, noteComputed, noteWhole } from './whole-numbers.ts';

/** `x.itemSync()`: the value remains in the program; the code sees a number. */
export function readScalar(t: Tracer, variable: TensorVariable): DeviceScalar {
  const x = t.use(variable);
  asOp(t, () => expectReadable(single(x, 'itemSync'), 'itemSync'));
  // A copy, since later writes to the tensor must not change the number.
  const tensor = run(t, () => clone(reshape(x, [])));
  return { kind: 'scalar', type: 'number', tensor, at: t.position() };
}

/** A GPU rejects a synchronous read, with the error of eager execution. */
export function expectReadable(x: Tensor, use: string): void {
  if (x.device.kind === 'gpu') x.device.downloadSync(x, x, use);
}

function run(t: Tracer, body: () => Tensor): Tensor {
  return t.runApi(() => noGrad(body));
}

function numberScalar(tensor: Tensor): DeviceScalar {
  return { kind: 'scalar', type: 'number', tensor };
}

function truth(tensor: Tensor): DeviceScalar {
  return { kind: 'scalar', type: 'boolean', tensor };
}

/**
 * Returns the scalar as float64, like JavaScript's numbers, so that results computed from it equal JavaScript's.
 */
export function asNumber(t: Tracer, { tensor }: DeviceScalar): Tensor {
  if (tensor.dtype === 'float64') return tensor;
  const number = run(t, () => cast(tensor, 'float64'));
  if (isWholeTensor(tensor)) noteWhole(number);
  return number;
}

/** Returns whether the value is truthy, as a bool tensor: neither 0 nor NaN. */
export function asTruth(t: Tracer, { tensor }: DeviceScalar): Tensor {
  if (tensor.dtype === 'bool') return tensor;
  return run(t, () => {
    const nonzero = ops.ne(tensor, 0);
    return dtypes[tensor.dtype].floating
      ? ops.logicalAnd(nonzero, ops.eq(tensor, tensor))
      : nonzero;
  });
}

/** Returns a known number or boolean as a graph value. */
export function constantTensor(t: Tracer, value: number | boolean, device: Device): Tensor {
  const dtype = typeof value === 'boolean' ? 'bool' : 'float64';
  const tensor = run(t, () => deviceGuard(device, () => full([], Number(value), { dtype })));
  if (Number.isInteger(value)) noteWhole(tensor);
  if (typeof value === 'number') t.control.determined.note(tensor, constant(value));
  return tensor;
}

/** Returns a symbolic number, or one that follows from sizes, as a graph value. */
export function numberTensor(t: Tracer, expr: NumberExpr, device: Device): Tensor {
  const make = () =>
    t.perform<Tensor>([new DeferredNumber(expr)], ([value]) =>
      noGrad(() => deviceGuard(device, () => full([], value as number, { dtype: 'float64' }))),
    );
  // A region has no scalar inputs of its own.
  const tensor = t.isInRegion ? t.inRoot(make) : make();
  t.control.determined.note(tensor, expr);
  return tensor;
}

/** Operators with their own kernels; the others are native functions. */
const arithmetic: Partial<Record<BinaryOperator, (a: Tensor, b: Tensor | number) => Tensor>> = {
  '+': ops.add,
  '-': ops.sub,
  '*': ops.mul,
  '/': ops.div,
};

const comparisons: Partial<Record<BinaryOperator, (a: Tensor, b: Tensor | number) => Tensor>> = {
  '<': ops.lt,
  '<=': ops.le,
  '>': ops.gt,
  '>=': ops.ge,
  '===': ops.eq,
  '==': ops.eq,
  '!==': ops.ne,
  '!=': ops.ne,
};

const isEquality = (operator: BinaryOperator): boolean =>
  operator === '===' || operator === '!==' || operator === '==' || operator === '!=';

/** `a operator b` with at least one device scalar; undefined if neither is. */
export function scalarBinary(
  t: Tracer,
  operator: BinaryOperator,
  a: Variable,
  b: Variable,
): Variable | undefined {
  const scalar = a.kind === 'scalar' ? a : b;
  if (scalar.kind !== 'scalar') return undefined;
  const result = combined(t, operator, a, b);
  if (result.kind === 'scalar') {
    noteCombined(t, operator, result, [a, b]);
    noteDetermined(t, operator, result, [a, b]);
    noteComputed(operator, result.tensor, [a, b]);
  }
  return result.kind === 'scalar' ? { ...result, at: scalar.at } : result;
}

/** Records the result's values in the sample runs, computed from the operands' values. */
function noteCombined(
  t: Tracer,
  operator: string,
  { tensor }: DeviceScalar,
  from: readonly Variable[],
): void {
  const { samples } = t.control;
  const fn = scalarFunctions.get(operator);
  if (!fn) return;
  const operands = from.map((each) => {
    if (each.kind === 'scalar') return samples.of(each.tensor);
    const { value } = each as { readonly value?: unknown };
    return sampleRuns.map(() => (typeof value === 'number' ? value : Number.NaN));
  });
  samples.note(
    tensor,
    sampleRuns.map((_, i) => Number(fn(...operands.map((each) => each[i]!)))),
  );
}

/** Records the result as an expression of sizes, if the operands are. */
function noteDetermined(
  t: Tracer,
  fn: string,
  { type, tensor }: DeviceScalar,
  from: readonly Variable[],
): void {
  const { determined } = t.control;
  const args = from.map((each) =>
    each.kind === 'scalar' ? determined.of(each.tensor) : exprOf(each),
  );
  if (type !== 'number' || !args.every((arg) => arg !== undefined)) return;
  determined.note(tensor, appliedTo(fn, ...args));
}

function exprOf(variable: Variable): NumberExpr | undefined {
  if (variable.kind === 'symbolic') return variable.expr;
  if (variable.kind !== 'constant' || typeof variable.value !== 'number') return undefined;
  return constant(variable.value);
}

function combined(t: Tracer, operator: BinaryOperator, a: Variable, b: Variable): Variable {
  const strict = operator === '===' || operator === '!==';
  if (isEquality(operator)) {
    const [left, right] = [typeOfScalar(t, a), typeOfScalar(t, b)];
    const comparable = strict ? left === right : isNumeric(left) && isNumeric(right);
    if (!comparable) return known(operator.startsWith('!'));
  }
  const compute = arithmetic[operator];
  const compare = comparisons[operator];
  if (!compute && !compare) return hostNumber(t, operator, [a, b]);
  const [x, y] = [operand(t, operator, a), operand(t, operator, b)];
  const left = x instanceof Tensor ? x : asTensor(t, a, x, (y as Tensor).device);
  if (compute) return numberScalar(run(t, () => compute(left, y)));
  return truth(run(t, () => compare!(left, y)));
}

/** Returns the result of a native function or operator on device scalars. */
function hostNumber(t: Tracer, fn: string, args: readonly Variable[]): DeviceScalar {
  if (!scalarFunctions.has(fn)) {
    const scalar = args.find((arg) => arg.kind === 'scalar') as DeviceScalar;
    throw numberNeeded(scalar, `is an operand of ${fn}, which is not computed in programs`);
  }
  const { device } = args.find((arg): arg is DeviceScalar => arg.kind === 'scalar')!.tensor;
  const operands = args.map((arg) => {
    const value = operand(t, fn, arg);
    return value instanceof Tensor ? value : asTensor(t, arg, value, device);
  });
  const tensor = run(t, () => bind1(hostNumberOp, operands, { fn }));
  noteComputed(fn, tensor, args);
  return { kind: 'scalar', type: tensor.dtype === 'bool' ? 'boolean' : 'number', tensor };
}

/**
 * Returns a number as a graph value, even if it is symbolic: required for an operator's left operand and for operands
 * of native functions.
 */
function asTensor(t: Tracer, variable: Variable, value: number, device: Device): Tensor {
  if (variable.kind !== 'symbolic' || typeof value === 'number') {
    return constantTensor(t, value, device);
  }
  return numberTensor(t, variable.expr, device);
}

/** Returns a JavaScript number that changes between calls as a device scalar; undefined if that is impossible. */
export function changingNumber(t: Tracer, variable: SymbolicVariable): DeviceScalar | undefined {
  const isNumber = typeof variable.value === 'number' && t.device.kind !== 'gpu';
  if (!isNumber || t.numbers.attribute(variable.expr) === undefined) return undefined;
  guardNumbers(t, variable);
  return { kind: 'scalar', type: 'number', tensor: numberTensor(t, variable.expr, t.device) };
}

export function typeOfScalar(t: Tracer, variable: Variable): string {
  if (variable.kind === 'scalar') return variable.type;
  if (variable.kind === 'symbolic') return typeof variable.value;
  return variable.kind === 'constant' ? typeof constantOf(t, variable) : 'object';
}

const isNumeric = (type: string): boolean => type === 'number' || type === 'boolean';

function operand(t: Tracer, operator: string, variable: Variable): Tensor | number {
  if (variable.kind === 'scalar') return asNumber(t, variable);
  if (variable.kind === 'symbolic' && typeof variable.value === 'number') {
    const symbol = t.numbers.attribute(variable.expr);
    if (symbol !== undefined) {
      guardNumbers(t, variable);
      // A number determined by sizes differs in a program for other sizes.
      if (typeof symbol === 'number' || t.isInRegion) {
        return numberTensor(t, variable.expr, t.device);
      }
      t.sizes.fixed = true;
      return symbol as unknown as number;
    }
  }
  const value = constantOf(t, variable) as Primitive;
  if (typeof value === 'number' || typeof value === 'boolean') return Number(value);
  if (value === null) return 0;
  if (value === undefined) return Number.NaN;
  throw new GraphBreak(
    'unsupported-value',
    `a data-dependent number ${operator} a ${typeof value}`,
  );
}

/** `!scalar` also selects the union's option. */
function negatedTag({ tells }: DeviceScalar): Pick<DeviceScalar, 'tells'> {
  if (!tells) return {};
  return { tells: { ...tells, holds: tells.holds.map((each) => !each) } };
}

/** Unary operators. `!x` is computed from `asTruth`. */
export function scalarUnary(t: Tracer, operator: string, x: DeviceScalar): Variable {
  switch (operator) {
    case '!': {
      const value = asTruth(t, x);
      return { ...truth(run(t, () => ops.logicalNot(value))), ...negatedTag(x) };
    }
    case '+':
      return numberScalar(asNumber(t, x));
    case '-': {
      const value = asNumber(t, x);
      const negated = run(t, () => ops.neg(value));
      if (isWholeTensor(value)) noteWhole(negated);
      return numberScalar(negated);
    }
    case '~':
      return hostNumber(t, '~', [x]);
    case 'typeof':
      return known(x.type);
    case 'void':
      return known(undefined);
    default:
      throw new GraphBreak('unsupported-value', `${operator} of a data-dependent number`);
  }
}

/** Native functions with a float64 kernel that is exact to the last bit. */
const exact = new Map<unknown, (x: Tensor) => Tensor>([
  [Math.abs, ops.abs],
  [Math.floor, ops.floor],
  [Math.ceil, ops.ceil],
  [Math.trunc, ops.trunc],
  [Math.sqrt, ops.sqrt],
]);

/** Functions of numbers with at least one device scalar; undefined for other calls. */
export function scalarCall(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): Variable | undefined {
  if (!args.some((arg) => arg.kind === 'scalar')) return undefined;
  const [first] = args;
  if (first?.kind === 'scalar') {
    if (fn === Boolean) return truth(asTruth(t, first));
    if (fn === Number) return numberScalar(asNumber(t, first));
    const compute = exact.get(fn);
    if (compute && args.length === 1) {
      const value = asNumber(t, first);
      const result = run(t, () => compute(value));
      noteComputed(`Math.${(fn as () => number).name}`, result, args);
      return numberScalar(result);
    }
  }
  const name = hostScalarNames.get(fn);
  if (name === undefined) return undefined;
  const isTest = name.startsWith('Number.is');
  if (isTest && first && typeOfScalar(t, first) !== 'number') return known(false);
  if (fn === Object.is) {
    const [left, right] = args.map((arg) => typeOfScalar(t, arg));
    if (left !== right) return known(false);
  }
  const isParsed = fn === Number.parseInt || fn === Number.parseFloat;
  if (isParsed && first && typeOfScalar(t, first) === 'boolean') return known(Number.NaN);
  return hostNumber(t, name, args);
}

/** A method of numbers or booleans, called on a device scalar. */
export function scalarMethod(fn: unknown, receiver: Variable): DeviceScalar | undefined {
  if (receiver.kind !== 'scalar') return undefined;
  const isValue = fn === Number.prototype.valueOf || fn === Boolean.prototype.valueOf;
  return isValue ? receiver : undefined;
}

/**
 * Returns a number as an operand of a tensor, in the tensor's dtype, as for JavaScript numbers. An integer tensor
 * accepts only numbers that derive from integers, since others would make the result floating-point.
 */
export function scalarOperand(
  t: Tracer,
  scalar: DeviceScalar,
  like: Pick<Tensor, 'dtype'> | undefined,
): TensorVariable {
  const dtype = like?.dtype ?? 'float32';
  const { tensor } = scalar;
  if (!dtypes[dtype].floating) {
    if (scalar.type === 'boolean' || !isWholeTensor(tensor)) {
      throw numberNeeded(
        scalar,
        `joins a tensor of ${dtype}: whether it is whole decides the dtype of the result (cast the tensor: x.float())`,
      );
    }
    // Booleans and a whole number are promoted to int32.
    const integer = dtype === 'bool' ? 'int32' : dtype;
    const isHeld = tensor.dtype === integer;
    return t.result(isHeld ? tensor : asInteger(t, asNumber(t, scalar), integer));
  }
  return t.result(tensor.dtype === dtype ? tensor : run(t, () => cast(tensor, dtype)));
}
