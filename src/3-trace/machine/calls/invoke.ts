/** Calls: tensor ops are appended to the program, user functions are inlined, everything else runs natively. */

import { GraphBreak } from '../../../traces/graph-break.ts';
import { breakGraph, isNotToStatic, keepLoop } from '../../../traces/policy.ts';
import { closureOf } from '../../../vm/frames/function-of.ts';
import { callApi, isDataRead, isTracedApi } from '../../builtins/api.ts';
import { callBuiltin } from '../../builtins/builtins.ts';
import { raiseWhatHostThrows } from '../../builtins/thrown-by-host.ts';
import { readInGraph } from '../../control-flow/decide.ts';
import { requestLoop } from '../../control-flow/loops/kept-loops.ts';
import { scalarCall, scalarMethod } from '../../control-flow/numbers/scalars.ts';
import { textCall } from '../../control-flow/numbers/text-operations.ts';
import { orderOf, traceOrder } from '../../control-flow/sort-order.ts';
import { passedBound, passedFunction } from '../../heap/passed-functions.ts';
import { nameAt } from '../../state/current-instruction.ts';
import type { Tracer } from '../../state/tracer.ts';
import { guardIdentity, guardKind, isNullish } from '../../state/value-guards.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import { withSpecializedArguments } from '../../variables/specialized-arguments.ts';
import { specialized } from '../../variables/unions.ts';
import {
  type FunctionVariable,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { assertInGraph } from './assertions.ts';
import {
  type Call,
  enterClosure,
  enterFunction,
  enterMadeClosure,
  enterPassed,
} from './enter-function.ts';
import { callFramework, guardedBody, scopedMode } from './framework-calls.ts';
import { printInGraph } from './print.ts';
import { expectReceiver } from './required-receivers.ts';
import { tracedAsync } from './traced-async.ts';

/** Returns the result; undefined if a frame was pushed, whose return provides it. */
export function invoke(t: Tracer, called: Variable, call: Call): Variable | undefined {
  const callee = specialized(called);
  if (callee.kind === 'closure') return enterClosure(t, callee, call);
  if (callee.kind === 'bound') {
    const { target, receiver, args } = callee;
    return invoke(t, target, { ...call, receiver, args: [...args, ...call.args] });
  }
  if (callee.kind !== 'function') {
    const what = callee.kind === 'class' ? 'a class, called without new' : 'not a function';
    throw new GraphBreak('throw', `${nameAt(t.top)} is ${what}`);
  }
  const closure = callee.source && closureOf(callee.value);
  if (closure) return enterMadeClosure(t, callee, closure, call);
  const passed = passedFunction(t, callee);
  if (passed) return enterPassed(t, callee, passed, call);
  const bound = passedBound(t, callee);
  if (bound) return invoke(t, bound, call);
  guardIdentity(t, callee);
  const gradMode = scopedMode(callee.value);
  const [body] = call.args;
  if (gradMode !== undefined && body) {
    if (tracedAsync(body))
      throw new GraphBreak('throw', `${nameAt(t.top, callee)}() of an async function`);
    return invoke(t, body, { ...call, receiver: undefinedVariable, args: [], gradMode });
  }
  const guarded = guardedBody(t, callee.value, call.args);
  if (guarded) {
    const { body: inside, guard = call.guard } = guarded;
    return invoke(t, inside, { ...call, receiver: undefinedVariable, args: [], guard });
  }
  const receiver = specialized(call.receiver);
  try {
    expectReceiver(t, callee.value, receiver);
    const result = callKnown(t, callee, { ...call, receiver });
    if (result) return result;
    const indirect = indirectCall(t, callee, call);
    return indirect ? invoke(t, indirect.callee, indirect.call) : enterFunction(t, callee, call);
  } catch (error) {
    if (error instanceof GraphBreak) raiseWhatHostThrows(t, callee.value, receiver, call.args);
    throw error;
  }
}

/**
 * Makes a call and traces it to its return, for calls that the language makes within an instruction. A break inside the
 * call rolls everything back and is attributed to the instruction.
 */
export function callInside(
  t: Tracer,
  callee: Variable,
  receiver: Variable,
  args: readonly Variable[],
  gradMode: boolean | null = null,
): Variable {
  const call = { receiver, args, gradMode, returnTo: undefined };
  return t.attempt(() => t.execution.toReturn(() => invoke(t, callee, call)));
}

/** Calls a function that needs no source: a function of the tensor API, or a modeled built-in. */
function callKnown(t: Tracer, callee: FunctionVariable, call: Call): Variable | undefined {
  const { value } = callee;
  if (value === breakGraph) throw new GraphBreak('forced', 'breakGraph()');
  if (value === keepLoop) {
    requestLoop(t);
    return undefinedVariable;
  }
  if (value === orderOf) return traceOrder(t, call.args);
  if (isNotToStatic(value)) {
    throw new GraphBreak('not-to-static', `${nameAt(t.top, callee)}() is excluded from capture`);
  }
  if (isTracedApi(value)) return callApi(t, value, call.receiver, call.args);
  if (isDataRead(value)) {
    const scalar = readInGraph(t, value, call.receiver);
    if (scalar) return scalar;
    throw new GraphBreak('data-read', `${nameAt(t.top, callee)}() reads values`);
  }
  return callHost(t, value, withSpecializedArguments(value, call));
}

function callHost(t: Tracer, value: FunctionVariable['value'], call: Call): Variable | undefined {
  const inGraph =
    scalarCall(t, value, call.args) ??
    scalarMethod(value, call.receiver) ??
    textCall(t, value, call.receiver, call.args) ??
    printInGraph(t, value, call.args) ??
    assertInGraph(t, value, call.args);
  if (inGraph) return inGraph;
  return (
    callFramework(t, value, call.receiver, call.args) ??
    callBuiltin(t, value, call.receiver, call.args)
  );
}

/** Unwraps `f.call(…)` and `f.apply(…)`. The receiver may be of another kind in a later call. */
function indirectCall(
  t: Tracer,
  called: FunctionVariable,
  call: Call,
): { callee: Variable; call: Call } | undefined {
  const unwrapped = unwrappedCall(t, called, call);
  if (unwrapped) guardKind(t, unwrapped.call.receiver);
  return unwrapped;
}

function unwrappedCall(
  t: Tracer,
  { value }: FunctionVariable,
  call: Call,
): { callee: Variable; call: Call } | undefined {
  const called: unknown = value;
  if (called === Reflect.apply) {
    const [callee, receiver = undefinedVariable, list] = call.args;
    if (!callee || !list) return undefined;
    return { callee, call: { ...call, receiver, args: listed(t, list) } };
  }
  const callee = call.receiver;
  if (callee.kind !== 'function' && callee.kind !== 'closure' && callee.kind !== 'bound') return;
  const [receiver = undefinedVariable, ...args] = call.args;
  if (called === Function.prototype.call) return { callee, call: { ...call, receiver, args } };
  if (called !== Function.prototype.apply) return undefined;
  return { callee, call: { ...call, receiver, args: listed(t, args[0]) } };
}

function listed(t: Tracer, list: Variable | undefined): Variable[] {
  if (!list || isNullish(t, list)) return [];
  const array = asArray(t, list);
  if (!array) throw new GraphBreak('unsupported-value', 'arguments that are not an array');
  return arrayElements(t, array);
}
