/** Calls: tensor ops are appended to the program, user functions are inlined, everything else runs natively. */

import type { Device } from '../../../../runtime/device/device.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { breakGraph, isIgnoredFile, isNotToStatic, keepLoop } from '../../../traces/policy.ts';
import type { Closure } from '../../../vm/bytecode/frame.ts';
import type { Reg } from '../../../vm/bytecode/instructions.ts';
import { usesNewTarget } from '../../../vm/bytecode/uses-new-target.ts';
import { usesSuper } from '../../../vm/bytecode/uses-super.ts';
import { usesThis } from '../../../vm/bytecode/uses-this.ts';
import { closureOf } from '../../../vm/frames/function-of.ts';
import { callApi, isDataRead, isTracedApi } from '../../builtins/api.ts';
import { callBuiltin } from '../../builtins/builtins.ts';
import { isPolyfill, notePolyfill } from '../../builtins/polyfills/codes.ts';
import { polyfillOf } from '../../builtins/polyfills.ts';
import { raiseWhatHostThrows } from '../../builtins/thrown-by-host.ts';
import { readInGraph } from '../../control-flow/decide.ts';
import { requestLoop } from '../../control-flow/loops/kept-loops.ts';
import { printInGraph } from '../../control-flow/numbers/print.ts';
import { scalarCall, scalarMethod } from '../../control-flow/numbers/scalars.ts';
import { textCall } from '../../control-flow/numbers/text.ts';
import { orderOf, traceOrder } from '../../control-flow/sort-order.ts';
import { passedFunction } from '../../heap/passed-functions.ts';
import { nameAt } from '../../state/callee-name.ts';
import { Raised } from '../../state/exceptions.ts';
import { guardIdentity, isNullish } from '../../state/facts.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import { arrayElements, asArray } from '../../values/arrays.ts';
import { promiseOf } from '../../values/objects/promises.ts';
import { replacesBuiltin } from '../../values/replaced-functions.ts';
import { isRefused } from '../../variables/code-of.ts';
import type { ClosureVariable } from '../../variables/function-variables.ts';
import { withSpecializedArguments } from '../../variables/specialized-arguments.ts';
import type { TraceFrame } from '../../variables/trace-frame.ts';
import { specialized } from '../../variables/unions.ts';
import {
  type CellReference,
  type FunctionVariable,
  isPrimitive,
  known,
  prototypeOf,
  undefinedVariable,
  type Variable,
} from '../../variables/variable.ts';
import { callFramework, guardedBody, scopedMode } from './framework-calls.ts';
import { expectReceiver } from './required-receivers.ts';

/** A call that has not been made yet. */
export interface Call {
  readonly receiver: Variable;
  readonly args: readonly Variable[];
  /** The grad mode of the callee; null for the caller's. */
  readonly gradMode: boolean | null;
  /** The device (or null) of the `deviceGuard` that makes the call; undefined for the caller's guard. */
  readonly guard?: Device | null | undefined;
  /** The register of the caller that receives the result. */
  readonly returnTo: Reg | undefined;
}

/** Returns the result; undefined if a frame was pushed, whose return provides it. */
export function invoke(t: Tracer, called: Variable, call: Call): Variable | undefined {
  const callee = specialized(called);
  if (callee.kind === 'closure') return inlineClosure(t, callee, call);
  if (callee.kind === 'bound') {
    const { target, receiver, args } = callee;
    return invoke(t, target, { ...call, receiver, args: [...args, ...call.args] });
  }
  if (callee.kind !== 'function') {
    const what = callee.kind === 'class' ? 'a class, called without new' : 'not a function';
    throw new GraphBreak('throw', `${nameAt(t.top)} is ${what}`);
  }
  const made = callee.source && closureOf(callee.value);
  if (made) return inlineMadeClosure(t, callee, made, call);
  const passed = passedFunction(t, callee);
  if (passed) return inlinePassed(t, callee, passed, call);
  guardIdentity(t, callee);
  const gradMode = scopedMode(callee.value);
  const [body] = call.args;
  if (gradMode !== undefined && body) {
    return invoke(t, body, { ...call, receiver: undefinedVariable, args: [], gradMode });
  }
  const guarded = guardedBody(t, callee.value, call.args);
  if (guarded) {
    const { body: inside, guard = call.guard } = guarded;
    return invoke(t, inside, { ...call, receiver: undefinedVariable, args: [], guard });
  }
  const receiver = specialized(call.receiver);
  expectReceiver(callee.value, receiver);
  try {
    return callKnown(t, callee, { ...call, receiver }) ?? inlineFunction(t, callee, call);
  } catch (error) {
    if (error instanceof GraphBreak) raiseWhatHostThrows(t, callee.value, receiver, call.args);
    throw error;
  }
}

/**
 * Makes a call and traces it to its return, for calls that the language makes within an instruction. A break
 * inside the call rolls everything back and is attributed to that instruction.
 */
export function callInside(
  t: Tracer,
  callee: Variable,
  receiver: Variable,
  args: readonly Variable[],
  gradMode: boolean | null = null,
): Variable {
  return t.attempt(() => {
    const caller = t.top;
    const depth = t.frames.length;
    t.floor = depth;
    const call = { receiver, args, gradMode, returnTo: undefined };
    const result = invoke(t, callee, call);
    if (result) return result;
    // The caller's pc is past a call in progress, as in any waiting frame.
    caller.pc++;
    const value = t.execution.runAbove(depth);
    caller.pc--;
    return value;
  });
}

/** Calls a function that needs no source: a function of the tensor API, or a built-in that is modeled. */
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
    printInGraph(t, value, call.args);
  if (inGraph) return inGraph;
  return (
    callFramework(t, value, call.receiver, call.args) ??
    callBuiltin(t, value, call.receiver, call.args)
  );
}

function inlineFunction(t: Tracer, callee: FunctionVariable, call: Call): Variable | undefined {
  const indirect = indirectCall(t, callee, call);
  if (indirect) return invoke(t, indirect.callee, indirect.call);
  const equivalent = polyfillOf(t, callee.value, call.receiver, call.args);
  if (equivalent) {
    return enterCall(t, call, {
      ...equivalent,
      cells: [],
      thisVariable: call.receiver,
    });
  }
  const { receiver, args } = call;
  // Computed only for errors: the name is read from the user's source.
  const name = () => `${nameAt(t.top, callee)}()`;
  if (replacesBuiltin(callee.value)) {
    throw new GraphBreak('native-call', `${name()} replaces a built-in function`);
  }
  const found = t.codeOf(callee.value);
  if (isRefused(found)) {
    if (found.native) throw new GraphBreak('native-call', `${name()} is native code`);
    throw new GraphBreak('not-captured', `${name()} is not captured: ${found.why}`);
  }
  const { closure, boundThis, boundArgs } = found;
  const { file } = closure.code.source;
  if (isFrameworkFile(file) && !isInlinedFrameworkFile(file)) {
    // A compiler's helper for naming inner functions may be called by a polyfill, and counts as part of it.
    if (!isPolyfill(t.top.closure.code)) {
      throw new GraphBreak('framework-call', `${name()} is part of tostatic`);
    }
    notePolyfill(closure.code);
  }
  if (isIgnoredFile(file)) throw new GraphBreak('ignored-module', `${name()} is in ${file}`);
  const { lexicalThis } = closure;
  if (!closure.homeObject && usesSuper(closure.code)) {
    const above = chainOf(receiver);
    closure.homeObject = above && t.codeOf.homeObject(callee.value, above);
  }
  if (!closure.homeObject && usesSuper(closure.code)) {
    throw new GraphBreak('not-captured', `${name()} uses super in a class that cannot be found`);
  }
  // The function is guarded by identity, so its cells and bound values are fixed.
  const given = boundThis ? heldVariable(t, boundThis.value, 'the bound this') : receiver;
  const thisVariable = lexicalThis
    ? heldVariable(t, lexicalThis.value, 'this')
    : receiverSeenBy(closure, given, name);
  const cells = closure.cells.map((value) =>
    heldVariable(t, value, `a variable of ${closure.code.name || 'a function'}`),
  ) as CellReference[];
  const bound = boundArgs.map((value) => heldVariable(t, value, 'a bound argument'));
  return enterCall(t, call, { closure, cells, thisVariable, args: [...bound, ...args] });
}

/** Returns the object where the search for a method's home object starts. */
function chainOf(receiver: Variable): object | undefined {
  const isContainer = receiver.kind === 'newArray' || receiver.kind === 'newCollection';
  if (isContainer && receiver.own) return chainOf(receiver.own);
  if (receiver.kind === 'newObject') {
    const above = prototypeOf(receiver);
    return above?.kind === 'newObject' ? chainOf(above) : above?.value;
  }
  return receiver.kind === 'object' || receiver.kind === 'function' ? receiver.value : undefined;
}

/** Unwraps `f.call(…)` and `f.apply(…)`. */
function indirectCall(
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

/** Returns the variable for a value that can't change because its owner can't. */
function heldVariable(t: Tracer, value: unknown, name: string): Variable {
  if (isPrimitive(value)) return known(value);
  return t.read({ kind: 'held', value, name }, value);
}

/**
 * Breaks the graph if a sloppy function that uses `this` is called without a receiver: it would see the global
 * object.
 */
function receiverSeenBy(
  { code }: Pick<Closure, 'code'>,
  receiver: Variable,
  name: () => string,
): Variable {
  const seesObject = !code.strict && code.kind !== 'arrow' && usesThis(code);
  if (seesObject && receiver.kind === 'constant') {
    throw new GraphBreak(
      'unsupported-value',
      `${name()} is sloppy and is called without an object`,
    );
  }
  return receiver;
}

/** Inlines a function created in the trace. */
function inlineClosure(t: Tracer, callee: ClosureVariable, call: Call): Variable | undefined {
  const { code, outer, cells } = callee;
  const arrow = code.kind === 'arrow';
  const closure = { code, scope: outer.scope, homeObject: arrow ? outer.homeObject : undefined };
  const passed = t.passed.get(outer);
  if (passed) t.passed.set(closure, passed);
  const thisVariable = arrow
    ? callee.thisVariable
    : receiverSeenBy(closure, call.receiver, () => `${code.name}()`);
  const seen = {
    ...(callee.home && { home: callee.home }),
    ...(callee.newTarget && { newTarget: callee.newTarget }),
  };
  return enterCall(t, call, { closure, cells, thisVariable, args: call.args, ...seen });
}

/**
 * Inlines a function that bytecode has created, for example before a graph break. Each run creates a new one, so
 * its code is guarded instead of its identity, and captured values are read through it.
 */
function inlineMadeClosure(
  t: Tracer,
  callee: FunctionVariable,
  made: Closure,
  call: Call,
): Variable | undefined {
  const base = callee.source!;
  const { code, scope, homeObject, lexicalThis } = made;
  t.guard(`closure ${sourceKey(base)}`, { kind: 'closure', source: base, code, scope, homeObject });
  const thisVariable = lexicalThis
    ? t.read({ kind: 'closureThis', base }, lexicalThis.value)
    : receiverSeenBy(made, call.receiver, () => `${code.name}()`);
  const closure = { code, scope, homeObject };
  const cells = made.cells.map((cell, index) =>
    t.read({ kind: 'closureCell', base, index }, cell),
  ) as CellReference[];
  return enterCall(t, call, { closure, cells, thisVariable, args: call.args });
}

/** Inlines a function passed to the call; another function with the same code may replace it. */
function inlinePassed(
  t: Tracer,
  callee: FunctionVariable,
  closure: Closure,
  call: Call,
): Variable | undefined {
  const { code, lexicalThis } = closure;
  const base = callee.source!;
  const thisVariable = lexicalThis
    ? t.read({ kind: 'closureThis', base }, lexicalThis.value)
    : receiverSeenBy(closure, call.receiver, () => `${code.name}()`);
  return enterCall(t, call, { closure, cells: [], thisVariable, args: call.args });
}

/**
 * Pushes the callee; the caller continues after its call, with the result in `returnTo`. For an async function,
 * returns its promise.
 */
function enterCall(
  t: Tracer,
  { gradMode, guard = t.top.guard, returnTo }: Call,
  callee: Pick<TraceFrame, 'closure' | 'cells' | 'thisVariable' | 'args' | 'home' | 'newTarget'>,
): Variable | undefined {
  const { code } = callee.closure;
  const name = code.name || 'a function';
  if (code.isGenerator && code.isAsync) {
    throw new GraphBreak('native-call', `${name} is an async generator`);
  }
  if (code.kind === 'constructor' || code.kind === 'derivedConstructor') {
    throw new GraphBreak('throw', `the class ${code.name} is called without new`);
  }
  if (usesConstruction(code, callee.newTarget !== undefined)) {
    throw new GraphBreak('native-call', `${name} is part of a construction`);
  }
  const enter = () => {
    t.push({
      ...callee,
      entry: null,
      registers: new Array<Variable | undefined>(code.registerCount),
      returnTo,
      gradMode: gradMode ?? t.top.gradMode,
      guard,
      pc: 0,
      delegate: null,
      last: null,
    });
  };
  if (code.isAsync) return followAsync(t, name, enter);
  enter();
  return undefined;
}

/** Traces an async function to its return. An async function that awaits or throws runs natively as a whole. */
function followAsync(t: Tracer, name: string, enter: () => void): Variable {
  const refused = (why: string) => new GraphBreak('native-call', `${name} is async${why}`);
  if (t.isInRegion) throw refused(', in a branch or loop');
  return t.attempt(() => {
    const caller = t.top;
    const depth = t.frames.length;
    t.floor = depth;
    enter();
    caller.pc++;
    try {
      const value = t.execution.runAbove(depth);
      caller.pc--;
      return promiseOf(t, value);
    } catch (error) {
      // An exception rejects the promise.
      const reason = error instanceof GraphBreak ? error.reason : null;
      if (reason === 'await') throw refused(' and waits');
      const throws = error instanceof Raised || reason === 'throw' || reason === 'op-error';
      throw throws ? refused(' and throws') : error;
    }
  });
}

/**
 * True for an arrow that depends on how the surrounding function was constructed. `isKnown`: its `new.target` is
 * known.
 */
function usesConstruction(code: Closure['code'], isKnown: boolean): boolean {
  if (code.kind !== 'arrow') return false;
  if (!isKnown && usesNewTarget(code)) return true;
  return code.instructions.some(
    (each) => each.op === 'intrinsic' && each.name === 'superConstructor',
  );
}
