/** tostatic functions with an effect beyond their arguments, as performed by the tracer. */

import { checkpoint } from '../../../../runtime/autograd/checkpoint.ts';
import { enableGrad, gradEnabled, noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { backward } from '../../../../runtime/backward/backward.ts';
import { rulesOf } from '../../../../runtime/backward/custom-function.ts';
import { grad } from '../../../../runtime/backward/grad.ts';
import { deviceGuard, deviceNamed, guardingDevice } from '../../../../runtime/device/current.ts';
import type { Device } from '../../../../runtime/device/device.ts';
import { formatSpec } from '../../../../runtime/device/tensor-meta.ts';
import { absentMethods } from '../../../../runtime/errors/absent-names.ts';
import { thrownBy } from '../../../../runtime/nn/thrown-by.ts';
import { isfinite } from '../../../../runtime/ops/arithmetic/logic.ts';
import {
  convKinds,
  convTransposeKinds,
} from '../../../../runtime/ops/convolution/convolution-options.ts';
import { expectNoStride, expectSizes } from '../../../../runtime/options/expect-arguments.ts';
import {
  expectArguments,
  expectOptions,
  unknownOption,
} from '../../../../runtime/options/expect-options.ts';
import { isAsync } from '../../../../runtime/options/is-async.ts';
import { span } from '../../../../runtime/profiler/profiler.ts';
import { seed } from '../../../../runtime/random/seed.ts';
import { type Shape, sameShape, sizeOf } from '../../../../runtime/spec/shape.ts';
import { keep, tensorsIn, tidy } from '../../../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../../guards/number-expr.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { traceBackward } from '../../autograd/backward.ts';
import { traceCheckpoint } from '../../autograd/checkpoint.ts';
import {
  saveForBackward,
  traceCustomFunction,
  traceSaveForBackward,
} from '../../autograd/custom-function.ts';
import { traceGrad } from '../../autograd/grad.ts';
import {
  removeHook,
  traceRegisterHook,
  traceRemoveHook,
  traceRetainGrad,
} from '../../autograd/hooks.ts';
import { traceDetach, traceRequiresGrad } from '../../autograd/leaves.ts';
import { check } from '../../control-flow/numbers/check.ts';
import { guardNumbers, guardValue } from '../../state/symbolic-guards.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf, deviceOf } from '../../state/value-guards.ts';
import { strictlyEqual } from '../../values/equality.ts';
import { expand } from '../../values/iterators.ts';
import { specialized } from '../../variables/unions.ts';
import { known, undefinedVariable, type Variable } from '../../variables/variable.ts';
import {
  kindTests,
  mayBeTensor,
  operandChecks,
  traceCheck,
  traceExpectArguments,
  traceExpectOptions,
} from './option-checks.ts';
import { traceTensorsIn } from './tensors-in.ts';
import { tracedAsync } from './traced-async.ts';

type Callable = (...args: never[]) => unknown;

/** Functions that call their argument immediately, with the grad mode inside (null for the caller's mode). */
const scoped = new Map<unknown, boolean | null>([
  [noGrad, false],
  [enableGrad, true],
  // In captured code, lifetimes follow from liveness, so there is nothing to tidy.
  [tidy, null],
]);

/**
 * The function that a framework call invokes, and the device guard around it (undefined for the surrounding
 * guard).
 */
interface GuardedBody {
  readonly body: Variable;
  readonly guard: Device | null | undefined;
}

/**
 * Returns the body of `deviceGuard(device, body)` or `profiler.span(name, body)`, to be traced under the guard.
 */
export function guardedBody(
  t: Tracer,
  fn: Callable,
  args: readonly Variable[],
): GuardedBody | null {
  const called: unknown = fn;
  const [device, body] = args;
  // A span of a program is not a span of time: ops run in the order of the plan.
  if (called === span) return body ? { body, guard: undefined } : null;
  if (called !== deviceGuard) return null;
  const guard = device && guardOf(t, device);
  if (body && tracedAsync(body))
    throw new GraphBreak('throw', 'deviceGuard() of an async function');
  if (!body || guard === undefined) {
    throw new GraphBreak('framework-call', 'deviceGuard() of a device that is not known');
  }
  return { body, guard };
}

/** Returns null for "no guard", which is allowed only if the call itself is outside any guard. */
function guardOf(t: Tracer, device: Variable): Device | null | undefined {
  if (device.kind === 'constant') {
    const name = constantOf(t, device);
    if (typeof name === 'string') return deviceNamed(name);
    if (name !== null || guardingDevice() !== null) return undefined;
    t.guard('op device', { kind: 'opDevice', device: null });
    return null;
  }
  return deviceOf(t, device);
}

/** Returns the grad mode in which `fn` calls its argument; undefined if `fn` isn't such a function. */
export function scopedMode(fn: Callable): boolean | null | undefined {
  return scoped.get(fn);
}

/** Traces a function that modules call only to throw an error. */
function traceThrow(): never {
  throw new GraphBreak('throw', 'a module rejects its input');
}

/**
 * Returns whether two shapes are equal, dimension by dimension. A dynamic size that appears in both stays dynamic.
 */
function traceSameShape(t: Tracer, _receiver: Variable, shapes: readonly Variable[]): Variable {
  const [a, b] = shapes.map((shape) => expand(t, shape));
  return known(a!.length === b!.length && a!.every((size, i) => strictlyEqual(t, size, b![i]!)));
}

/** Returns the number of elements of a shape as a constant. */
function traceSizeOf(t: Tracer, _receiver: Variable, [shape]: readonly Variable[]): Variable {
  const sizes = shape ? expand(t, shape).map((size) => constantOf(t, size)) : [];
  return known(sizeOf(sizes as unknown as Shape));
}

/** Returns the option kinds for a number of dimensions. */
function traceKinds(kindsOf: (dims: number) => object): TracedImplementation {
  return (t, _receiver, [dims = undefinedVariable]) => {
    const value = kindsOf(constantOf(t, dims) as number);
    return t.read({ kind: 'held', value, name: 'kinds of options' }, value);
  };
}

type TracedImplementation = (t: Tracer, receiver: Variable, args: readonly Variable[]) => Variable;

const performed = new Map<unknown, TracedImplementation>([
  // Every trace guards the mode around the call.
  [gradEnabled, (t) => known(t.top.gradMode ?? gradEnabled())],
  [keep, traceKeep],
  [tensorsIn, traceTensorsIn],
  [Tensor.prototype.backward, (t, receiver, args) => traceBackward(t, receiver, args)],
  [backward, (t, _receiver, [loss, ...rest]) => traceBackward(t, loss, rest)],
  [grad, (t, _receiver, args) => traceGrad(t, args)],
  [checkpoint, (t, _receiver, args) => traceCheckpoint(t, args)],
  [Tensor.prototype.dispose, (t, receiver) => traceDispose(t, receiver)],
  [Tensor.prototype[Symbol.dispose], (t, receiver) => traceDispose(t, receiver)],
  [Tensor.prototype.detach, (t, receiver) => traceDetach(t, receiver)],
  [Tensor.prototype.requiresGrad_, traceRequiresGrad],
  [Tensor.prototype.retainGrad, (t, receiver) => traceRetainGrad(t, receiver)],
  [Tensor.prototype.registerHook, traceRegisterHook],
  [removeHook, (t, receiver) => traceRemoveHook(t, receiver)],
  [saveForBackward, traceSaveForBackward],
  [seed, traceSeed],
  [sameShape, traceSameShape],
  [sizeOf, traceSizeOf],
  [expectOptions, traceExpectOptions],
  [expectArguments, traceExpectArguments],
  [convKinds, traceKinds(convKinds)],
  [convTransposeKinds, traceKinds(convTransposeKinds)],
  [isAsync, (_t, _receiver, [fn]) => known(fn !== undefined && tracedAsync(fn))],
  [expectNoStride, traceCheck(expectNoStride)],
  [expectSizes, traceCheck(expectSizes)],
  ...kindTests,
  ...operandChecks,
  [formatSpec, traceThrow],
  [thrownBy, traceThrow],
  [unknownOption, traceThrow],
]);

/** The functions that the tracer performs itself, in the same order in every process. */
export function performedFunctions(): Iterable<unknown> {
  return [...performed.keys(), ...scoped.keys(), span, deviceGuard];
}

/** Returns the result of a framework call that the tracer performs itself; undefined for other functions. */
export function callFramework(
  t: Tracer,
  fn: Callable,
  receiver: Variable,
  args: readonly Variable[],
): Variable | undefined {
  if (absentMethods.has(fn)) traceThrow();
  if (rulesOf(fn)) return traceCustomFunction(t, fn, args);
  return performed.get(fn)?.(t, receiver, args);
}

/** Restarts the random stream, both for the rest of the program and for code after the run. */
function traceSeed(
  t: Tracer,
  _receiver: Variable,
  [argument = undefinedVariable]: readonly Variable[],
): Variable {
  const { plans } = t.control;
  const value = specialized(argument);
  const isRead = value.kind === 'scalar' && value.type === 'number';
  if ((t.isInRegion || isRead) && !plans.seedsInside) plans.enable('seedsInside');
  if (isRead) {
    check(
      t,
      t.runApi<Tensor>(() => isfinite(value.tensor)),
      true,
    );
    t.random.seed(value);
    return undefinedVariable;
  }
  if (value.kind === 'symbolic' && typeof value.value === 'number') {
    const expr: NumberExpr = { kind: 'apply', fn: 'Number.isFinite', args: [value.expr] };
    guardNumbers(t, value);
    guardValue(t, { kind: 'symbolic', expr, value: true, source: null });
    t.random.seed(value.expr);
    return undefinedVariable;
  }
  const constant = constantOf(t, value);
  if (!Number.isFinite(constant))
    throw new GraphBreak('throw', 'seed() with an argument that is not a finite number');
  t.random.seed({ kind: 'constant', value: constant as number });
  return undefinedVariable;
}

/**
 * Exempts the tensor from the `tidy` around the call. A tensor created in a branch or loop is kept on every path,
 * and then lives until it is garbage-collected.
 */
function traceKeep(
  t: Tracer,
  _receiver: Variable,
  [tensor = undefinedVariable]: readonly Variable[],
): Variable {
  if (!mayBeTensor(t, specialized(tensor)))
    throw new GraphBreak('throw', 'keep() of something other than a tensor');
  if (tensor.kind === 'dynamic') t.effects.keptOpen.add(tensor.tensor);
  if (tensor.kind !== 'tensor') return tensor;
  if (!tensor.source) tensor.isKept = true;
  else if (!t.isInRegion) t.effects.keep(tensor.actual!, tensor.source);
  else
    throw new GraphBreak('branch-effect', 'keep() in a branch or loop, of a tensor from before it');
  return tensor;
}

/** Disposes the tensor after the run, if it is still reachable then. */
function traceDispose(t: Tracer, receiver: Variable): Variable {
  if (receiver.kind !== 'tensor')
    throw new GraphBreak('throw', 'dispose() of something other than a tensor');
  if (t.isInRegion && receiver.mayAlias.length > 0) {
    const what = 'a tensor is disposed of in a branch or loop that may be a pre-existing one';
    throw new GraphBreak('branch-effect', what);
  }
  t.effects.dispose(receiver, t.catchesRejection || t.builder.hasChecks);
  return undefinedVariable;
}
