/** The traced functions of the tensor API, and how they are called on variables. */

import { writeToLeaf } from '../../../runtime/autograd/in-place-node.ts';
import { backward } from '../../../runtime/backward/backward.ts';
import { grad } from '../../../runtime/backward/grad.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import * as rearrange from '../../../runtime/ops/arranging/rearrange.ts';
import * as splitting from '../../../runtime/ops/arranging/splitting.ts';
import { asTensor, isTensor, tensor } from '../../../runtime/ops/core/create.ts';
import { beginsLeaf } from '../../../runtime/ops/core/creation-options.ts';
import { dequantize, quantize } from '../../../runtime/ops/core/quantize.ts';
import * as inPlace from '../../../runtime/ops/in-place/in-place.ts';
import * as pointwiseInPlace from '../../../runtime/ops/in-place/pointwise-in-place.ts';
import * as ops from '../../../runtime/ops/index.ts';
import { ShapeDependsOnData } from '../../../runtime/ops/indexing/data-dependent.ts';
import * as indexing from '../../../runtime/ops/indexing/indexing.ts';
import { full, ones, zeros } from '../../../runtime/ops/movement/create.ts';
import * as joining from '../../../runtime/ops/movement/joining.ts';
import * as movement from '../../../runtime/ops/movement/movement.ts';
import * as ranges from '../../../runtime/ops/movement/ranges.ts';
import * as views from '../../../runtime/ops/movement/views.ts';
import { isSymbolic } from '../../../runtime/ops/numbers/symbolic-number.ts';
import { rand, randn } from '../../../runtime/ops/random/drawn.ts';
import * as dropout from '../../../runtime/ops/random/dropout.ts';
import { gammaSlope } from '../../../runtime/ops/random/gamma-slope.ts';
import * as random from '../../../runtime/ops/random/random.ts';
import { RecordedWriteInPlace } from '../../../runtime/program/recorded-write.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import { tensorMethods } from '../../../runtime/tensor-methods/methods.ts';
import { isKernelCall } from '../../../runtime/user-kernels/kernel-op.ts';
import { isPlainObject } from '../../guards/plain.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { expectLeaf } from '../autograd/hooks.ts';
import { traceRequiresGrad } from '../autograd/leaves.ts';
import { clampedByScalars } from '../control-flow/numbers/clamped.ts';
import { byPosition, numberAmong } from '../control-flow/numbers/keyword-numbers.ts';
import {
  decidesShape,
  expectNumbersTaken,
  filledWith,
  integersCompared,
  scalarOperands,
  scaledWrite,
} from '../control-flow/numbers/scalar-arguments.ts';
import type { Tracer } from '../state/tracer.ts';
import { constantOf, guardPrimitive, passedDevice, sourceOf } from '../state/value-guards.ts';
import { arrayElements, asArray, isArray } from '../values/arrays.ts';
import { callDynamically, callWithDataSizes, callWithNumbers } from '../values/call-dynamically.ts';
import { ChangingNumbers, type NumberUse } from '../values/changing-numbers.ts';
import { plainEntries } from '../values/property-keys.ts';
import { isPrimitiveVariable } from '../values/to-primitive.ts';
import { outerTensors } from '../values/varying-array.ts';
import { specialized } from '../variables/unions.ts';
import {
  isPrimitive,
  known,
  newArray,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../variables/variable.ts';
import { callLayout, layoutMethods } from './tensors/layout-calls.ts';
import { rowsAt } from './tensors/rows-at.ts';
import { booleansAsNumbers } from './tensors/tensor-of-booleans.ts';
import { tensorOfScalars } from './tensors/tensor-of-scalars.ts';

type Callable = (...args: never[]) => unknown;

function functionsOf(module: object): Callable[] {
  return Object.values(module).filter((value): value is Callable => typeof value === 'function');
}

/** Functions of tensors and plain values: each call can be appended to a program. */
const traced: ReadonlySet<unknown> = new Set<unknown>([
  ...[ops, inPlace, pointwiseInPlace, movement].flatMap(functionsOf),
  quantize,
  dequantize,
  gammaSlope,
  tensor,
  asTensor,
  isTensor,
  ...tensorMethods.traced,
  ...tensorMethods.draws,
  ...layoutMethods,
]);

/** Functions that read a tensor's data, whose results are unknown until the graph has run. */
const reads: ReadonlySet<unknown> = new Set<unknown>(tensorMethods.reads);

const creators: ReadonlySet<unknown> = new Set<unknown>([
  full,
  ones,
  zeros,
  rand,
  randn,
  random.normal,
  random.randint,
  random.randperm,
  tensor,
  asTensor,
  ranges.arange,
  ranges.eye,
  ranges.linspace,
]);

/** Functions that draw random numbers. They are called only once, in program order. */
const draws: ReadonlySet<unknown> = new Set<unknown>([
  ...functionsOf(dropout),
  ...functionsOf(random),
  rand,
  randn,
  ...tensorMethods.draws,
]);

/** Random functions that forward their numbers to op attributes. */
const scaledDraws: ReadonlySet<unknown> = new Set<unknown>([
  ...functionsOf(dropout),
  random.randint,
]);

/** In-place functions are also called only once: their numbers are operands, or factors of operands. */
function symbolsOf(fn: Callable): NumberUse['symbols'] {
  if (fn.name.endsWith('_') || scaledDraws.has(fn)) return 'yes';
  return draws.has(fn) ? 'no' : 'tried';
}

/** Functions whose number lists are sizes or positions rather than attributes that a run can compute. */
const takesSizes: ReadonlySet<unknown> = new Set<unknown>(
  [movement, joining, rearrange, splitting, views, ranges, indexing, { full, ones, zeros }, random]
    .flatMap((module) => Object.entries(module))
    .filter(([name]) => name !== 'roll')
    .flatMap(([name, fn]) => [
      fn,
      Object.getOwnPropertyDescriptor(Tensor.prototype, name)?.value as unknown,
    ])
    .filter((fn) => fn !== undefined),
);

/** All traced functions, in the same order in every process. */
export function tracedFunctions(): Iterable<unknown> {
  return [...traced, ...reads, ...creators, ...draws];
}

export function isTracedApi(fn: Callable): boolean {
  return traced.has(fn) || isKernelCall(fn);
}

/** Functions of tensors that keep no reference to their arguments after they return. */
export function isTensorFunction(fn: unknown): boolean {
  return traced.has(fn) || reads.has(fn);
}

/** Functions whose results may share memory with the seeds, but are no operand. */
const differentiations: ReadonlySet<unknown> = new Set<unknown>([
  Tensor.prototype.backward,
  backward,
  grad,
]);

/**
 * Returns whether only the caller references the operands after a call of `fn`. A tensor that the call returns is new
 * or an operand.
 */
export function keepsNoOperand(fn: unknown): boolean {
  return isTensorFunction(fn) || differentiations.has(fn);
}

export function isDataRead(fn: Callable): boolean {
  return reads.has(fn);
}

/** Appends the ops of an API call to the program. A created leaf starts a new autograd graph. */
export function callApi(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  passed: readonly Variable[],
): Variable {
  const args = booleansAsNumbers(t, fn, byPosition(fn, passed));
  const laidOut = callLayout(t, fn, receiver, args);
  if (laidOut) return laidOut;
  if (fn === isTensor) return asTensorTest(t, args[0]);
  const ofScalars = tensorOfScalars(t, fn, args);
  if (ofScalars) {
    t.guardDevice();
    return ofScalars;
  }
  expectNumbersTaken(t, fn, receiver, args);
  const compared = integersCompared(t, fn, receiver, args);
  if (compared) return callApi(t, compared.fn, known(undefined), compared.args);
  const call = fn as (...args: unknown[]) => unknown;
  // Only tensor methods have a `this`.
  const self = receiver.kind === 'tensor' ? t.use(receiver) : undefined;
  const written = receiver.kind === 'tensor' ? receiver : args[0];
  const inGraph = breakingAtRecordedWrites(
    t,
    written,
    () =>
      rowsAt(t, fn, receiver, args) ??
      scaledWrite(t, fn, receiver, args) ??
      filledWith(t, fn, receiver, args) ??
      clampedByScalars(t, fn, receiver, args) ??
      callDynamically(t, fn, receiver, args, (arg) => opened(t, arg)),
  );
  if (inGraph) return asLeafIfRequested(t, inGraph);
  const ofOption = args.map(numberAmong).find((number) => number !== undefined);
  if (ofOption) throw decidesShape(fn.name, ofOption);
  const target = self ?? (args[0]?.kind === 'tensor' ? t.use(args[0]) : null);
  if (target instanceof Tensor && fn.name.endsWith('_')) {
    t.control.copied.expectNone(t.surroundings, target);
  }
  const numbers = new ChangingNumbers(t, {
    symbols: symbolsOf(fn),
    sizesInArrays: takesSizes.has(fn),
  });
  const values = scalarOperands(t, fn, self, args).map((arg) => apiValue(t, arg, numbers, false));
  if (creators.has(fn)) t.guardDevice();
  try {
    const result = breakingAtRecordedWrites(t, written, () =>
      numbers.perform([self, ...values], ([on, ...rest]) => callOrReject(call, on, rest)),
    );
    return asLeafIfRequested(t, variableOf(t, result));
  } catch (error) {
    if (error instanceof GraphBreak) throw error;
    if (error instanceof ShapeDependsOnData) {
      return asLeafIfRequested(t, callWithDataSizes(t, fn, receiver, args, error));
    }
    const withNumbers = callWithNumbers(t, fn, receiver, args);
    if (withNumbers) return withNumbers;
    throw new GraphBreak('op-error', error instanceof Error ? error.message : String(error), error);
  }
}

/** An error names the numbers of the call, not the symbols that represent them. */
function callOrReject(
  call: (...args: unknown[]) => unknown,
  on: unknown,
  args: readonly unknown[],
): unknown {
  try {
    return Reflect.apply(call, on, args);
  } catch (error) {
    const plain = args.map((each) => (isSymbolic(each) ? each.value : each));
    if (error instanceof TostaticError && args.some(isSymbolic)) Reflect.apply(call, on, plain);
    throw error;
  }
}

/** Runs `body`; a recorded write to `written` that a program can't represent breaks the graph. */
function breakingAtRecordedWrites<T>(t: Tracer, written: Variable | undefined, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof RecordedWriteInPlace)) throw error;
    throw (
      refusedOfLeaf(t, written, error.op) ??
      new GraphBreak('in-place', `${error.op}() where gradients flow`)
    );
  }
}

/** Returns the result of a call; it is a leaf if the options contain `requiresGrad: true`. */
function asLeafIfRequested(t: Tracer, result: Variable): Variable {
  const isLeaf = result.kind === 'tensor' && result.traced !== null && beginsLeaf(result.traced);
  return isLeaf ? traceRequiresGrad(t, result, []) : result;
}

const isTensorVariable = (variable: Variable): boolean => {
  const { kind } = specialized(variable);
  return kind === 'tensor' || kind === 'dynamic';
};

/** Returns the error of eager execution for a recorded write to a leaf. */
function refusedOfLeaf(
  t: Tracer,
  variable: Variable | undefined,
  op: string,
): GraphBreak | undefined {
  if (variable?.kind !== 'tensor' || !variable.actual?.requiresGrad) return undefined;
  if (!variable.actual.isLeaf) return undefined;
  expectLeaf(t, variable);
  const error = writeToLeaf(op, variable.actual, true);
  return new GraphBreak('op-error', error.message, error);
}

/** Returns a pre-existing plain object, such as module options, as a new object with its entries. */
function opened(t: Tracer, argument: Variable): Variable {
  const variable = specialized(argument);
  if (variable.kind !== 'object' || !isPlainObject(variable.value)) return argument;
  isArray(t, variable);
  const entries = plainEntries(t, variable).map(({ key, value }) => [key, value] as const);
  return { kind: 'newObject', entries: new Map(entries) };
}

/** Returns the value to pass to the API: traced tensors, or plain data, on which the trace then depends. */
function apiValue(
  t: Tracer,
  argument: Variable,
  numbers: ChangingNumbers,
  inArray: boolean,
): unknown {
  const variable = specialized(argument);
  if (variable.kind === 'tensor') return t.use(variable);
  if (variable.kind === 'scalar') throw decidesShape('a function of tensors', variable);
  if (variable.kind === 'symbolic') return numbers.operand(variable, inArray);
  if (variable.kind === 'constant') return constantOf(t, variable);
  const array = asArray(t, variable);
  if (array) {
    const operand = (element: Variable) => apiValue(t, element, numbers, true);
    const varying = outerTensors(t, array);
    if (varying) {
      const { preceding, tensors, appended } = varying;
      return [...preceding.map(operand), tensors, ...appended.map(operand)];
    }
    return arrayElements(t, array).map(operand);
  }
  if (variable.kind === 'newTypedArray') return variable.data.slice();
  const plain = variable.kind === 'object' && isPlainObject(variable.value);
  if (plain || (variable.kind === 'newObject' && !prototypeOf(variable))) {
    isArray(t, variable);
    const entries = plainEntries(t, variable);
    return Object.fromEntries(
      entries.map(({ key, value }) => [key, apiValue(t, value, numbers, inArray)]),
    );
  }
  return passedDevice(t, variable);
}

function variableOf(t: Tracer, value: unknown): Variable {
  if (value instanceof Tensor) return t.result(value);
  if (isPrimitive(value)) return known(value);
  if (Array.isArray(value)) return newArray(value.map((item) => variableOf(t, item)));
  throw new GraphBreak('framework-call', 'the result is neither a tensor nor plain data');
}

/** `isTensor(value)`, guarded, since another call may pass a value of another type. */
function asTensorTest(t: Tracer, value: Variable = undefinedVariable): Variable {
  if (isPrimitiveVariable(specialized(value))) {
    guardPrimitive(t, value);
    return known(false);
  }
  const is = isTensorVariable(value);
  const source = sourceOf(value);
  return source
    ? t.read({ kind: 'instanceOf', base: source, type: Tensor as never }, is)
    : known(is);
}
