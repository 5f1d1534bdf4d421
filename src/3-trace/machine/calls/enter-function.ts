/** Functions whose code is traced: their frames are pushed, and return the result of the call. */

import type { Device } from '../../../../runtime/device/device.ts';
import { sourceKey } from '../../../guards/source-key.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import { isIgnoredFile } from '../../../traces/policy.ts';
import { usesNewTarget, usesSuper, usesThis } from '../../../vm/bytecode/arrow-uses.ts';
import type { Closure } from '../../../vm/bytecode/frame.ts';
import type { Reg } from '../../../vm/bytecode/instructions.ts';
import { isPolyfill, notePolyfill } from '../../builtins/polyfills/codes.ts';
import { polyfillOf } from '../../builtins/polyfills.ts';
import { nameAt } from '../../state/current-instruction.ts';
import { Raised } from '../../state/exceptions.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../../state/framework-files.ts';
import type { Tracer } from '../../state/tracer.ts';
import { isNullish } from '../../state/value-guards.ts';
import { needsHomeForPrivate } from '../../values/objects/private-names.ts';
import { promiseOf } from '../../values/objects/promises.ts';
import { isPrimitiveVariable } from '../../values/to-primitive.ts';
import { isRefused } from '../../variables/code-of.ts';
import type { ClosureVariable } from '../../variables/function-variables.ts';
import { type Callee, calledFrame } from '../../variables/trace-frame.ts';
import {
  type CellReference,
  type FunctionVariable,
  isPrimitive,
  known,
  prototypeOf,
  type Variable,
} from '../../variables/variable.ts';
import { iteratorHelper } from './iterator-helper.ts';

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

/** Inlines a pre-existing function, or the function traced in place of a built-in one. */
export function enterFunction(
  t: Tracer,
  callee: FunctionVariable,
  call: Call,
): Variable | undefined {
  const equivalent = polyfillOf(t, callee.value, call.receiver, call.args);
  if (equivalent) {
    const called = { ...equivalent, cells: [], thisVariable: call.receiver };
    const enter = () => enterCall(t, call, called);
    if (!equivalent.closure.code.isGenerator) return enter();
    return iteratorHelper(t, callee.value.name, enter);
  }
  const { receiver, args } = call;
  // Computed only for errors: the name is read from the user's source.
  const name = () => `${nameAt(t.top, callee)}()`;
  // A polyfill's helper functions count as part of it, wherever they are.
  const isHelper = isPolyfill(t.top.closure.code);
  const found = isHelper ? t.codeOf(callee.value) : t.codeOf.called(callee.value);
  if (isRefused(found)) {
    if (found.opaque) throw new GraphBreak('framework-call', `${name()} is part of tostatic`);
    if (found.native) throw new GraphBreak('native-call', `${name()} is native code`);
    throw new GraphBreak('not-captured', `${name()} is not captured: ${found.why}`);
  }
  const { closure, boundThis, boundArgs } = found;
  const { file } = closure.code.source;
  if (isFrameworkFile(file) && !isInlinedFrameworkFile(file)) {
    // A compiler's helper for naming inner functions may be called by a polyfill.
    if (!isHelper) throw new GraphBreak('framework-call', `${name()} is part of tostatic`);
    notePolyfill(closure.code);
  }
  if (isIgnoredFile(file)) throw new GraphBreak('ignored-module', `${name()} is in ${file}`);
  const { lexicalThis } = closure;
  if (!closure.homeObject && (usesSuper(closure.code) || needsHomeForPrivate(closure))) {
    const above = chainOf(receiver);
    closure.homeObject = above && t.codeOf.homeObject(callee.value, above);
  }
  if (!closure.homeObject && usesSuper(closure.code)) {
    throw new GraphBreak('not-captured', `${name()} uses super in a class that cannot be found`);
  }
  // The function is guarded by identity, so its cells and bound values are fixed.
  const thisArgument = boundThis ? heldVariable(t, boundThis.value, 'the bound this') : receiver;
  const thisVariable = lexicalThis
    ? heldVariable(t, lexicalThis.value, 'this')
    : receiverSeenBy(t, closure, thisArgument, name);
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

/** Returns the variable for a value that can't change because its owner can't. */
function heldVariable(t: Tracer, value: unknown, name: string): Variable {
  if (isPrimitive(value)) return known(value);
  return t.read({ kind: 'held', value, name }, value);
}

/**
 * Returns the `this` that the function sees. A sloppy function sees the global object in place of null and undefined;
 * the object that it would see in place of another primitive breaks the graph.
 */
function receiverSeenBy(
  t: Tracer,
  { code }: Pick<Closure, 'code'>,
  receiver: Variable,
  name: () => string,
): Variable {
  const seesObject = !code.strict && code.kind !== 'arrow' && usesThis(code);
  if (!seesObject || !isPrimitiveVariable(receiver)) return receiver;
  if (isNullish(t, receiver)) return heldVariable(t, globalThis, 'globalThis');
  throw new GraphBreak(
    'unsupported-value',
    `${name()} is sloppy and is called with a primitive as this`,
  );
}

/** Inlines a function created in the trace. */
export function enterClosure(t: Tracer, callee: ClosureVariable, call: Call): Variable | undefined {
  const { code, outer, cells } = callee;
  const arrow = code.kind === 'arrow';
  const closure = { code, scope: outer.scope, homeObject: arrow ? outer.homeObject : undefined };
  const passed = t.passed.get(outer);
  if (passed) t.passed.set(closure, passed);
  const thisVariable = arrow
    ? callee.thisVariable
    : receiverSeenBy(t, closure, call.receiver, () => `${code.name}()`);
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
export function enterMadeClosure(
  t: Tracer,
  callee: FunctionVariable,
  native: Closure,
  call: Call,
): Variable | undefined {
  const base = callee.source!;
  const { code, scope, homeObject } = native;
  t.guard(`closure ${sourceKey(base)}`, { kind: 'closure', source: base, code, scope, homeObject });
  const thisVariable = thisThrough(t, callee, native, call);
  const closure = { code, scope, homeObject };
  const cells = native.cells.map((cell, index) =>
    t.read({ kind: 'closureCell', base, index }, cell),
  ) as CellReference[];
  return enterCall(t, call, { closure, cells, thisVariable, args: call.args });
}

/** Inlines a function passed to the call; another function with the same code may replace it. */
export function enterPassed(
  t: Tracer,
  callee: FunctionVariable,
  closure: Closure,
  call: Call,
): Variable | undefined {
  const thisVariable = thisThrough(t, callee, closure, call);
  return enterCall(t, call, { closure, cells: [], thisVariable, args: call.args });
}

/** Returns `this` of a pre-existing function that any other function with the same code may replace. */
function thisThrough(
  t: Tracer,
  { source: base }: FunctionVariable,
  closure: Closure,
  { receiver }: Call,
): Variable {
  return closure.lexicalThis
    ? t.read({ kind: 'closureThis', base: base! }, closure.lexicalThis.value)
    : receiverSeenBy(t, closure, receiver, () => `${closure.code.name}()`);
}

/**
 * Pushes the callee's frame; the caller continues after its call, with the result in `returnTo`. For an async function,
 * returns its promise.
 */
function enterCall(
  t: Tracer,
  { gradMode, guard = t.top.guard, returnTo }: Call,
  callee: Callee,
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
  const called = { returnTo, gradMode: gradMode ?? t.top.gradMode, guard };
  const enter = () => void t.push(calledFrame(callee, called));
  if (code.isAsync) return followAsync(t, name, enter);
  enter();
  return undefined;
}

/** Traces an async function to its return. An async function that awaits or throws runs natively as a whole. */
function followAsync(t: Tracer, name: string, enter: () => undefined): Variable {
  const refused = (why: string) => new GraphBreak('native-call', `${name} is async${why}`);
  if (t.isInRegion) throw refused(', in a branch or loop');
  return t.attempt(() => {
    try {
      return promiseOf(t, t.execution.toReturn(enter));
    } catch (error) {
      // An exception rejects the promise.
      const reason = error instanceof GraphBreak ? error.reason : null;
      if (reason === 'await') throw refused(' and waits');
      const throws = error instanceof Raised || reason === 'throw' || reason === 'op-error';
      throw throws ? refused(' and throws') : error;
    }
  });
}

/** Whether an arrow depends on how the surrounding function was constructed. `isKnown`: its `new.target` is known. */
function usesConstruction(code: Closure['code'], isKnown: boolean): boolean {
  if (code.kind !== 'arrow') return false;
  if (!isKnown && usesNewTarget(code)) return true;
  return code.instructions.some(
    (each) => each.op === 'intrinsic' && each.name === 'superConstructor',
  );
}
